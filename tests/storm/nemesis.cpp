// SPDX-License-Identifier: BSL-1.0
#include "storm/nemesis.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <functional>

namespace mortise::storm {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds beat{10};

}  // namespace

nemesis::nemesis(const settings& how, crew& workers, ground& over, const board& shared)
    : how_(how), workers_(workers), over_(over), shared_(shared), dice_(how.seed) {}

asio::awaitable<void> nemesis::rage(milliseconds span) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto end = clock::now() + span;
    auto next_blow = clock::now();
    for (auto now = clock::now(); now < end; now = clock::now()) {
        if (now >= next_blow) {
            strike(now);
            next_blow = now + drawn(50, 350);
        }
        workers_.any_left();
        over_.shake(now);
        do_what_is_due(now);
        timer.expires_after(beat);
        co_await timer.async_wait(asio::deferred);
    }
    over_.settle();
    do_what_is_due(clock::time_point::max());
}

void nemesis::strike(clock::time_point now) {
    const auto victim = draw_victim();
    if (!victim)
        return;
    const auto kind = drawn(0, 9).count();
    if (kind < 4) {
        workers_.kill(*victim);
        tasks_.push_back({now + drawn(0, 200), *victim, true});
        return;
    }
    workers_.stop(*victim);
    const auto ttl = static_cast<int>(how_.ttl.count());
    const auto span = kind < 7 ? drawn(5, ttl / 3) : drawn(ttl + ttl / 8, 2 * ttl);
    tasks_.push_back({now + span, *victim, false});
}

void nemesis::do_what_is_due(clock::time_point now) {
    const auto is_due = [now](const task& each) { return each.when <= now; };
    const auto due = std::partition(tasks_.begin(), tasks_.end(), std::not_fn(is_due));
    const std::vector<task> doing(due, tasks_.end());
    tasks_.erase(due, tasks_.end());
    for (const task& each : doing) {
        if (each.start) {
            workers_.start(each.seat);
        } else if (!workers_.stopped(each.seat)) {
            continue;
        } else if (now != clock::time_point::max() && drawn(0, 5).count() == 0) {
            workers_.kill(each.seat);  // it never resumes
            tasks_.push_back({now + drawn(0, 200), each.seat, true});
        } else {
            workers_.resume(each.seat);
        }
    }
}

// Mostly draws a holder: there a blow does most harm.
std::optional<std::size_t> nemesis::draw_victim() {
    std::vector<std::size_t> all;
    std::vector<std::size_t> holders;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (!workers_.runs(i) || workers_.stopped(i))
            continue;
        all.push_back(i);
        if (shared_.shared().seats[i].holding != 0)
            holders.push_back(i);
    }
    const auto& from = !holders.empty() && drawn(0, 9).count() < 7 ? holders : all;
    if (from.empty())
        return std::nullopt;
    return from[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(dice_)];
}

milliseconds nemesis::drawn(int least, int most) {
    return milliseconds(std::uniform_int_distribution<int>(least, most)(dice_));
}

}  // namespace mortise::storm
