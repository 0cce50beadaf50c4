// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/event.hpp"
#include "mortise/coro/sleep.hpp"
#include "support/cancel_sweep.hpp"
#include "support/co_test.hpp"
#include "support/print.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>

#include <string>

namespace mortise::event_test {

using namespace std::chrono_literals;
using coro::event;
using test::co_world;

TEST(Event, WakesAllThatWaitInTheirOrderAndByPost) {
    co_world world;
    event e(world.executor());
    std::string order;
    for (const char who : {'a', 'b', 'c'})
        e.async_wait([&order, who](error_code ec) { order += ec ? '-' : who; });
    world.settle();
    EXPECT_EQ(order, "");
    e.set();
    EXPECT_EQ(order, "") << "inside set()";
    world.settle();
    EXPECT_EQ(order, "abc");
}

CO_TEST(Event, LetsThroughWhileItIsSet) {
    event e(world.executor());
    EXPECT_FALSE(e.is_set());
    e.set();
    EXPECT_TRUE(e.is_set());
    co_await e.async_wait();
    co_await e.async_wait();
    e.reset();
    EXPECT_FALSE(e.is_set());
}

TEST(Event, NeverCompletesInsideTheCallEvenIfItIsSet) {
    co_world world;
    event e(world.executor());
    e.set();
    bool called = false;
    e.async_wait([&](error_code) { called = true; });
    EXPECT_FALSE(called);
    world.settle();
    EXPECT_TRUE(called);
}

TEST(Event, ResetTakesNothingBackFromThoseThatWaited) {
    co_world world;
    event e(world.executor());
    int woken = 0;
    int later = 0;
    e.async_wait([&](error_code ec) { woken += !ec; });
    e.set();
    e.reset();
    e.async_wait([&](error_code) { ++later; });
    world.settle();
    EXPECT_EQ(woken, 1);
    EXPECT_EQ(later, 0);
}

TEST(Event, DoesNotWakeWhoWaitsAgainFromItsHandler) {
    co_world world;
    event e(world.executor());
    int woken = 0;
    e.async_wait([&](error_code) {
        ++woken;
        e.async_wait([&](error_code) { ++woken; });
    });
    e.set();
    e.reset();
    world.settle();
    EXPECT_EQ(woken, 1);
}

TEST(Event, CompletesAllWaitersWhenItIsClosedOrDestroyed) {
    co_world world;
    std::optional<event> e(world.executor());
    int aborted = 0;
    const auto count = [&](error_code ec) { aborted += ec == asio::error::operation_aborted; };
    e->async_wait(count);
    e->close();
    e->async_wait(count);
    e->set();
    e->async_wait(count);
    world.settle();
    EXPECT_EQ(aborted, 3);
    e.emplace(world.executor());
    e->async_wait(count);
    e.reset();
    world.settle();
    EXPECT_EQ(aborted, 4);
}

CO_TEST(Event, MayBeDestroyedByWhomItWakes) {
    auto e = std::make_unique<event>(world.executor());
    const auto waiter = world.start([&]() -> asio::awaitable<void> {
        co_await e->async_wait();
        e.reset();
    });
    co_await coro::sleep_for(world.time, 1s);
    e->set();
    co_await coro::sleep_for(world.time, 1s);
    EXPECT_TRUE(waiter->ended);
    EXPECT_EQ(e, nullptr);
}

class EventCancellation : public testing::TestWithParam<asio::cancellation_type> {};

TEST_P(EventCancellation, TakesOutThisWaiterOnly) {
    co_world world;
    event e(world.executor());
    asio::cancellation_signal signal;
    error_code result;
    bool other = false;
    e.async_wait(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { result = ec; }));
    e.async_wait([&](error_code ec) { other = !ec; });
    signal.emit(GetParam());
    EXPECT_FALSE(result) << "completed inside emit()";
    world.settle();
    EXPECT_EQ(result, asio::error::operation_aborted);
    EXPECT_FALSE(other);
    e.set();
    world.settle();
    EXPECT_TRUE(other);
}

TEST_P(EventCancellation, HasNoEffectAfterSet) {
    co_world world;
    event e(world.executor());
    asio::cancellation_signal signal;
    error_code result = asio::error::would_block;
    e.async_wait(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { result = ec; }));
    e.set();
    signal.emit(GetParam());
    world.settle();
    EXPECT_EQ(result, error_code());
}

TEST_P(EventCancellation, FindsNothingWhenTheOldWaitHasEndedAndANewOneWaits) {
    co_world world;
    event e(world.executor());
    asio::cancellation_signal signal;
    int ended = 0;
    e.async_wait(asio::bind_cancellation_slot(signal.slot(), [&](error_code) { ++ended; }));
    e.set();
    e.reset();
    world.settle();
    EXPECT_EQ(ended, 1);
    e.async_wait([&](error_code) { ++ended; });  // may well lie where the old one lay
    signal.emit(GetParam());
    world.settle();
    EXPECT_EQ(ended, 1);
}

TEST_P(EventCancellation, SweptOverEachStepEndsTheWaitAndNothingElse) {
    class waiting : public test::sweep_case {
    public:
        explicit waiting(co_world& world) : world_(world), event_(world.executor()) {
            world_.start([this] { return other(); });
            world_.start([this] { return setter(); });
        }
        asio::awaitable<void> operation() override {
            co_await event_.async_wait();
            event_.reset();
            co_await event_.async_wait();
        }
        void check(const co_world::outcome& outcome) override {
            const auto code = outcome.code();
            EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code;
            EXPECT_EQ(others_, 1);
        }

    private:
        asio::awaitable<void> other() {
            co_await event_.async_wait();
            ++others_;
        }
        asio::awaitable<void> setter() {
            for (int i = 0; i < 2; ++i) {
                co_await coro::sleep_for(world_.time, 1s);
                event_.set();
            }
        }
        co_world& world_;
        event event_;
        int others_ = 0;
    };
    const auto steps = test::cancel_sweep("event::async_wait", GetParam(), [](co_world& world) {
        return std::make_unique<waiting>(world);
    });
    EXPECT_GE(steps, 6U);
    EXPECT_LE(steps, 100U);
}

INSTANTIATE_TEST_SUITE_P(
    Types, EventCancellation, testing::ValuesIn(test::cancellation_types), test::param_name()
);

}  // namespace mortise::event_test
