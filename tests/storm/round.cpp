// SPDX-License-Identifier: BSL-1.0
#include "storm/round.hpp"

#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "storm/board.hpp"
#include "storm/crew.hpp"
#include "storm/nemesis.hpp"
#include "storm/resource_desk.hpp"
#include "storm/trace.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <exception>

namespace mortise::storm {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t records_max = 4'000'000;
constexpr std::chrono::seconds start_limit{60};
constexpr std::chrono::seconds leave_limit{60};
constexpr std::chrono::seconds long_enough{20};  // every kind of event must happen by then

// Polls every few milliseconds: only a signal would report the end of a child.
template <class Done>
asio::awaitable<bool> eventually(Done done, std::chrono::seconds limit) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto end = clock::now() + limit;
    while (!done()) {
        if (clock::now() >= end)
            co_return false;
        timer.expires_after(milliseconds(10));
        co_await timer.async_wait(asio::deferred);
    }
    co_return true;
}

asio::awaitable<void> weather(
    const settings& how,
    milliseconds span,
    ground& over,
    const board& shared,
    crew& all,
    round& result
) {
    const auto& seats = shared.shared().seats;
    auto up = [&] {
        all.any_left();
        return std::all_of(
            seats.begin(),
            seats.begin() + static_cast<std::ptrdiff_t>(how.processes),
            [](const board::seat& each) { return each.turns != 0; }
        );
    };
    if (!co_await eventually(up, start_limit))
        result.verdict.emplace_back("not every process got its first answer");
    nemesis fury(how, all, over, shared);
    co_await fury.rage(span);
    shared.shared().now = board::weather::calm;
    auto gone = [&] { return !all.any_left(); };
    if (!co_await eventually(gone, leave_limit))
        result.verdict.emplace_back("somebody waits for ever: a process does not end");
}

void count_blows(round& result, const std::vector<blow>& blows, milliseconds ttl) {
    const auto ttl_ns = std::chrono::nanoseconds(ttl).count();
    for (const blow& each : blows) {
        const bool stop = each.type == blow::kind::stop;
        result.kills += !stop;
        result.stops += stop;
        result.long_stops += stop && each.until - each.from > ttl_ns;
        result.inside_stops += each.inside;
    }
}

void must_be_zero(round& result, std::uint64_t count, const std::string& fault) {
    if (count != 0)
        result.verdict.push_back(std::to_string(count) + ' ' + fault);
}

// Demands at least one: a storm in which nothing happened proves nothing.
void must_be_some(round& result, std::uint64_t count, const std::string& events) {
    if (count == 0)
        result.verdict.push_back("there were no " + events + ": this storm proves nothing");
}

}  // namespace

round run_round(const settings& how, milliseconds span, const ground_maker& make) {
    round result;
    const board shared = board::create(records_max);
    {
        asio::io_context context(1);
        const auto over = make(how, context.get_executor());
        resource_desk desk(context.get_executor());
        crew all(how, *over, shared, desk);
        std::exception_ptr failed;
        asio::co_spawn(
            context,
            weather(how, span, *over, shared, all, result),
            [&](const std::exception_ptr& why) {
                failed = why;
                context.stop();
            }
        );
        context.run();
        if (failed)
            std::rethrow_exception(failed);
        result.logs = judge(shared.records(), all.blows(), how.ttl);
        count_blows(result, all.blows(), how.ttl);
        result.writes = desk.writes();
        result.refused = desk.refused();
        must_be_zero(result, desk.lost_updates(), "updates were lost behind the fence");
        must_be_zero(result, all.crashed(), "processes failed");
        result.store_blows = over->blows();
        if (!result.logs.first_finding.empty()) {
            result.trace = "storm-" + how.store + '-' + std::to_string(how.seed) + ".log";
            write_trace(result.trace, shared.records(), all.blows(), over->events());
        }
        if (const std::string left = over->residue(); !left.empty())
            result.verdict.push_back("this was left: " + left);
    }
    must_be_zero(result, result.logs.overlaps, "pairs of holders that exclude each other");
    must_be_zero(result, result.logs.falling_tokens, "tokens that did not grow");
    must_be_zero(
        result, result.logs.held_though_refused, "leases held though the fence refused them"
    );
    must_be_zero(
        result,
        result.logs.failed,
        "acquires failed with an error that has no reason: " +
            make_error_code(static_cast<errc>(result.logs.failed_code)).message()
    );
    if (span >= long_enough) {
        must_be_some(result, result.logs.hand_off.count, "hand-offs");
        must_be_some(result, result.logs.cancelled, "cancelled acquires");
        must_be_some(result, result.logs.busy, "acquires that ran out of time");
        must_be_some(result, result.logs.held_when_cut_off, "holders that were killed");
        // A server reaps dead sessions after a TTL. Some other blow mostly falls into that time,
        // and the take-over then does not count.
        if (how.store == "sqlite") {
            must_be_some(result, result.logs.after_kill.count, "take-overs of the killed");
            must_be_some(
                result, result.logs.after_stop.count, "holders that were stopped for long"
            );
        }
        for (const auto& [name, count] : result.store_blows)
            must_be_some(result, count, name);
    }
    if (!result.logs.first_finding.empty())
        result.verdict.push_back(result.logs.first_finding);
    return result;
}

}  // namespace mortise::storm
