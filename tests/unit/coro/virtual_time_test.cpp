// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "support/co_test.hpp"
#include "support/print.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <string>

namespace mortise::virtual_time_test {

using namespace std::chrono_literals;
using coro::sleep_for;
using test::co_world;

CO_TEST(VirtualTime, JumpsToTheDeadline) {
    const auto start = world.time.now();
    co_await sleep_for(world.time, 10h);
    EXPECT_EQ(world.time.now(), start + 10h);
}

TEST(VirtualTime, WakesInTheOrderOfDeadlinesAndOfArmingAtTheSameMoment) {
    co_world world;
    std::string order;
    const auto wake = [&](char who, clock::duration after) {
        world.time.async_wait_until(world.time.now() + after, [&order, who](error_code ec) {
            EXPECT_FALSE(ec);
            order += who;
        });
    };
    wake('c', 2s);
    wake('a', 1s);
    wake('d', 2s);
    wake('b', 1s);
    wake('e', 2s);
    world.settle();
    EXPECT_EQ(order, "abcde");
}

TEST(VirtualTime, TellsTheNextDeadline) {
    co_world world;
    EXPECT_EQ(world.time.next_deadline(), std::nullopt);
    const auto when = world.time.now() + 3s;
    world.time.async_wait_until(clock::time_point::max(), [](error_code) {});
    EXPECT_EQ(world.time.next_deadline(), std::nullopt) << "for ever is not a deadline";
    world.time.async_wait_until(when, [](error_code) {});
    EXPECT_EQ(world.time.next_deadline(), when);
}

TEST(VirtualTime, ForEverDoesNotEndAtTheEndOfTime) {
    co_world world;
    int calls = 0;
    world.time.async_wait_until(clock::time_point::max(), [&](error_code) { ++calls; });
    world.time.async_wait_until(world.time.now() + 1h, [&](error_code) { ++calls; });
    world.pass(clock::duration::max());
    EXPECT_EQ(world.time.now(), clock::time_point::max());
    world.settle();
    EXPECT_EQ(calls, 1);
}

TEST(VirtualTime, CompletesAPastDeadlineButNeverInline) {
    co_world world;
    int calls = 0;
    world.time.async_wait_until(world.time.now(), [&](error_code ec) { calls += ec ? 10 : 1; });
    world.time.async_wait_until(clock::time_point::min(), [&](error_code ec) { calls += !ec; });
    EXPECT_EQ(calls, 0);
    world.settle();
    EXPECT_EQ(calls, 2);
}

TEST(VirtualTime, AdvanceCompletesWhatFallsDueAndRunsNothing) {
    co_world world;
    int calls = 0;
    world.time.async_wait_until(world.time.now() + 1s, [&](error_code) { ++calls; });
    world.time.async_wait_until(world.time.now() + 2s, [&](error_code) { ++calls; });
    world.time.advance(1s);
    EXPECT_EQ(calls, 0);
    world.context.poll();
    EXPECT_EQ(calls, 1);
}

TEST(VirtualTime, RunForStopsExactlyAtItsEnd) {
    co_world world;
    const auto start = world.time.now();
    int beats = 0;
    const auto beat = world.start([&]() -> asio::awaitable<void> {
        for (;; ++beats)
            co_await sleep_for(world.time, 300ms);
    });
    world.pass(1s);
    EXPECT_EQ(beats, 3);
    EXPECT_EQ(world.time.now(), start + 1s);
    world.pass(200ms);
    EXPECT_EQ(beats, 4) << "the deadline at the very end belongs to the span";
    EXPECT_FALSE(beat->ended);
}

TEST(VirtualTime, RunWhileStopsBeforeTheNextHandler) {
    co_world world;
    int calls = 0;
    for (int i = 0; i < 10; ++i)
        asio::post(world.context, [&] { ++calls; });
    world.time.run_while(world.context, [&] { return calls < 4; });
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(world.settle(), 6U);
}

TEST(VirtualTime, RunsAContextAgainThatHadStopped) {
    co_world world;
    world.settle();
    EXPECT_TRUE(world.context.stopped());
    bool ran = false;
    asio::post(world.context, [&] { ran = true; });
    EXPECT_EQ(world.settle(), 1U);
    EXPECT_TRUE(ran);
}

TEST(VirtualTime, CompletesWhoWaitsWhenItIsDestroyed) {
    asio::io_context context;
    error_code result;
    {
        coro::virtual_time time(context.get_executor());
        time.async_wait_until(time.now() + 1h, [&](error_code ec) { result = ec; });
    }
    context.run();
    EXPECT_EQ(result, asio::error::operation_aborted);
}

class VirtualTimeCancellation : public testing::TestWithParam<asio::cancellation_type> {};

TEST_P(VirtualTimeCancellation, EndsTheWaitAtOnce) {
    co_world world;
    asio::cancellation_signal signal;
    error_code result;
    const auto forever = clock::time_point::max();
    world.time.async_wait_until(
        forever, asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { result = ec; })
    );
    world.settle();
    EXPECT_FALSE(result);
    signal.emit(GetParam());
    EXPECT_FALSE(result) << "a handler ran inside emit()";
    world.context.poll();
    EXPECT_EQ(result, asio::error::operation_aborted);
}

TEST_P(VirtualTimeCancellation, ComesTooLateOnceTheMomentWasReached) {
    co_world world;
    asio::cancellation_signal signal;
    error_code result = asio::error::would_block;
    world.time.async_wait_until(
        world.time.now() + 1s,
        asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { result = ec; })
    );
    world.time.advance(1s);
    signal.emit(GetParam());
    world.settle();
    EXPECT_EQ(result, error_code());
}

INSTANTIATE_TEST_SUITE_P(
    Types, VirtualTimeCancellation, testing::ValuesIn(test::cancellation_types), test::param_name()
);

CO_TEST(VirtualTime, TakesEveryTokenThatAsioHas) {
    const auto when = world.time.now() + 1s;
    auto [ec] = co_await world.time.async_wait_until(when, asio::as_tuple(asio::deferred));
    EXPECT_FALSE(ec);
    co_await world.time.async_wait_until(when, asio::use_awaitable);
    co_await world.time.async_wait_until(when, asio::cancel_after(1h, asio::deferred));
    world.time.async_wait_until(when, asio::detached);
    EXPECT_EQ(world.time.now(), when);
}

TEST(Sleep, EndsWithTheCancellationOfItsCoroutine) {
    co_world world;
    asio::cancellation_signal signal;
    const auto outcome = std::make_shared<co_world::outcome>();
    asio::co_spawn(
        world.context,
        sleep_for(world.time, clock::duration::max()),
        asio::bind_cancellation_slot(signal.slot(), co_world::record(outcome))
    );
    world.settle();
    EXPECT_FALSE(outcome->ended) << "the longest duration must mean for ever, not overflow";
    signal.emit(asio::cancellation_type::terminal);
    world.settle();
    EXPECT_EQ(outcome->code(), asio::error::operation_aborted);
}

CO_TEST(Sleep, UntilAPastMomentLetsOthersRunFirst) {
    bool other = false;
    asio::post(world.context, [&] { other = true; });
    co_await coro::sleep_until(world.time, world.time.now() - 1s);
    EXPECT_TRUE(other);
}

}  // namespace mortise::virtual_time_test
