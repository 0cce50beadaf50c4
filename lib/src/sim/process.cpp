// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/process.hpp"

#include "mortise/coro/assert.hpp"
#include "mortise/sim/world.hpp"
#include "sim/process_life.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace mortise::sim {
namespace {

constexpr std::int64_t million = 1'000'000;

// In 128 bits: days of nanoseconds times a million.
__extension__ using wide = __int128;

// Keeps what `main` refers to for as long as its coroutine lives.
asio::awaitable<void> keep(process::main_function main, process& self) {
    co_await main(self);
}

}  // namespace

process::process(world& in, std::string name, std::size_t index)
    : world_(in), name_(std::move(name)), index_(index), rate_since_(in.now()) {
    // Clocks that count from different boots.
    rate_origin_ = clock::time_point(std::chrono::hours(1) * (index + 1));
}

process::~process() = default;

asio::any_io_executor process::get_executor() const {
    MORTISE_ASSERT(life_);
    return life_->context.get_executor();
}

std::shared_ptr<coro::time_source> process::time() const {
    MORTISE_ASSERT(life_);
    return life_->time;
}

clock::time_point process::local_now() const noexcept {
    const wide passed = (world_.now() - rate_since_).count();
    return rate_origin_ +
           clock::duration(static_cast<clock::rep>(passed * (million + rate_) / million));
}

void process::set_clock_rate(std::int32_t ppm) {
    rate_origin_ = local_now();
    rate_since_ = world_.now();
    world_.say(name_ + "'s clock goes " + std::to_string(ppm) + " ppm faster");
    rate_ = std::clamp<std::int32_t>(ppm, -900'000, 9'000'000);
}

void process::run(main_function main) {
    MORTISE_ASSERT(!life_);
    main_ = std::move(main);
    begin();
}

void process::restart() {
    MORTISE_ASSERT(!life_ && main_);
    begin();
}

void process::begin() {
    world_.say(name_ + " starts");
    ++lives_;
    paused_ = false;
    life_ = std::make_unique<detail::process_life>(local_now());
    spawn(keep(main_, *this));
}

void process::spawn(asio::awaitable<void> task) {
    MORTISE_ASSERT(life_);
    stirred_ = true;
    asio::co_spawn(life_->context, std::move(task), [this](std::exception_ptr failed) {
        if (failed)
            world_.fail(std::move(failed));
    });
}

void process::post(std::function<void()> handler) {
    if (!life_)
        return;
    stirred_ = true;
    asio::post(life_->context, std::move(handler));
}

void process::pause() {
    world_.say(name_ + " is stopped");
    paused_ = true;
}

void process::resume() {
    if (paused_)
        world_.say(name_ + " goes on");
    paused_ = false;
    stirred_ = true;
}

void process::crash() {
    if (life_)
        world_.say(name_ + " dies");
    paused_ = false;
    const auto ending = std::exchange(life_, nullptr);
}

// What falls due stands behind what is ready already, also after a stop.
void process::keep_time() {
    if (!life_ || paused_)
        return;
    const auto due = life_->time->next_deadline();
    const auto local = std::max(life_->time->now(), local_now());
    life_->time->advance_to(local);
    stirred_ = stirred_ || (due && *due <= local);
}

bool process::run_one() {
    if (!life_ || paused_)
        return false;
    keep_time();
    if (life_->context.stopped())
        life_->context.restart();
    stirred_ = life_->context.poll_one() != 0;
    return stirred_;
}

std::optional<clock::time_point> process::next_due() const {
    if (!life_ || paused_)
        return std::nullopt;
    const auto local = life_->time->next_deadline();
    if (!local)
        return std::nullopt;
    const wide left = std::max<clock::rep>((*local - rate_origin_).count(), 0);
    const wide pace = million + rate_;
    // Rounded up: at that true time the clock has reached the deadline.
    const wide until = (left * million + pace - 1) / pace;
    if (until > clock::duration::max().count() / 2)
        return std::nullopt;
    return rate_since_ + clock::duration(static_cast<clock::rep>(until));
}

}  // namespace mortise::sim
