// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/world.hpp"

#include "base/seeded_random.hpp"
#include "sim/machine_clock.hpp"

#include <algorithm>
#include <stdexcept>

namespace mortise::sim {
namespace {

// The number of handlers that may run at one moment of time.
constexpr std::uint64_t busy_max = 10'000'000;

}  // namespace

world::world(std::uint64_t seed)
    : ids_(std::make_unique<mortise::detail::seeded_random>(~seed)), random_(seed), net_(*this) {
    random_.next();  // the first numbers of small seeds are alike
}

world::~world() {
    end();
}

// Ends all processes while everything still exists: their work refers to the world and to other
// processes.
void world::end() {
    look_ = nullptr;
    agenda_.clear();
    for (const auto& each : processes_)
        each->crash();
}

process& world::add_process(std::string name) {
    // Each clock counts from another boot.
    const clock::time_point shows(std::chrono::hours(1) * (processes_.size() + 1));
    return add(std::move(name), std::make_shared<detail::machine_clock>(now_, shows));
}

process& world::add_process(std::string name, const process& beside) {
    return add(std::move(name), beside.clock_);
}

process& world::add(std::string name, std::shared_ptr<detail::machine_clock> clock) {
    const std::size_t index = processes_.size();
    processes_.push_back(std::make_unique<process>(*this, std::move(name), index, std::move(clock))
    );
    return *processes_.back();
}

void world::at(clock::time_point when, std::function<void()> event) {
    agenda_.emplace(std::max(when, now_), std::move(event));
}

void world::after(clock::duration span, std::function<void()> event) {
    at(coro::saturating_add(now_, span), std::move(event));
}

void world::run_for(clock::duration span) {
    run_until([] { return false; }, span);
}

bool world::run_until(const std::function<bool()>& done, clock::duration limit) {
    const auto end = coro::saturating_add(now_, limit);
    std::uint64_t busy = 0;
    for (;;) {
        if (failure_)
            std::rethrow_exception(std::exchange(failure_, nullptr));
        if (done())
            return true;
        if (run_something()) {
            if (++busy > busy_max)
                throw std::runtime_error("the processes do not come to rest");
            continue;
        }
        busy = 0;
        if (!pass_time(end))
            return false;
    }
}

// Runs one handler of a process drawn among those that may have one ready. If they have none, tries
// every process: something may have come from the real world, such as a datagram of another
// process.
bool world::run_something() {
    std::vector<process*> ready;
    for (const auto& each : processes_) {
        if (each->stirred_ && each->alive() && !each->paused())
            ready.push_back(each.get());
    }
    while (!ready.empty()) {
        const std::size_t chosen = random_.below(ready.size());
        if (run_one(*ready[chosen]))
            return true;
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    for (std::size_t i = 0; i < processes_.size(); ++i) {
        if (run_one(*processes_[i]))
            return true;
    }
    return false;
}

bool world::run_one(process& chosen) {
    if (!chosen.run_one())
        return false;
    ++steps_;
    note("run", chosen.index());
    if (look_)
        look_(chosen);
    return true;
}

// Moves the time to the next moment at which something happens, but not beyond `end`.
bool world::pass_time(clock::time_point end) {
    auto next = end;
    bool found = false;
    if (!agenda_.empty() && agenda_.begin()->first <= end) {
        next = agenda_.begin()->first;
        found = true;
    }
    for (const auto& each : processes_) {
        const auto due = each->next_due();
        if (due && *due <= next) {
            next = std::max(*due, now_);
            found = true;
        }
    }
    now_ = next;
    while (!agenda_.empty() && agenda_.begin()->first <= now_) {
        const auto event = std::move(agenda_.extract(agenda_.begin()).mapped());
        event();
    }
    for (const auto& each : processes_)
        each->keep_time();
    return found;
}

void world::note(std::string_view text, std::uint64_t one, std::uint64_t other) noexcept {
    const auto mix = [this](std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001b3; };
    mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    for (const char c : text)
        mix(static_cast<unsigned char>(c));
    mix(one);
    mix(other);
}

void world::fail(std::exception_ptr why) noexcept {
    if (!failure_)
        failure_ = std::move(why);
}

}  // namespace mortise::sim
