// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/mutex.hpp"
#include "mortise/coro/sleep.hpp"
#include "support/cancel_sweep.hpp"
#include "support/co_test.hpp"
#include "support/print.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>

#include <string>

namespace mortise::mutex_test {

using namespace std::chrono_literals;
using coro::mutex;
using coro::mutex_guard;
using coro::sleep_for;
using test::co_world;

CO_TEST(Mutex, IsHeldUntilTheGuardIsDestroyed) {
    mutex m(world.executor());
    {
        const mutex_guard guard = co_await m.async_lock();
        EXPECT_TRUE(guard);
        EXPECT_FALSE(m.try_lock());
    }
    EXPECT_TRUE(m.try_lock());
}

TEST(Mutex, IsGivenInTheOrderOfArrival) {
    co_world world;
    mutex m(world.executor());
    std::string order;
    const auto enter = [&](char who) {
        return [&world, &m, &order, who]() -> asio::awaitable<void> {
            const auto guard = co_await m.async_lock();
            order += who;
            co_await sleep_for(world.time, 1s);
        };
    };
    for (const char who : {'a', 'b', 'c', 'd'})
        world.start(enter(who));
    world.settle();
    EXPECT_EQ(order, "abcd");
}

CO_TEST(Mutex, CannotBeOvertakenByWhoComesLater) {
    mutex m(world.executor());
    auto held = m.try_lock();
    std::string order;
    const auto waiter = world.start([&]() -> asio::awaitable<void> {
        const auto guard = co_await m.async_lock();
        order += 'w';
    });
    co_await sleep_for(world.time, 1s);
    held.reset();
    EXPECT_FALSE(m.try_lock()) << "the waiter was given it at the unlock, though it has not run";
    const auto guard = co_await m.async_lock();
    order += 'l';
    EXPECT_EQ(order, "wl");
    EXPECT_TRUE(waiter->ended);
}

TEST(Mutex, NeverCompletesInline) {
    co_world world;
    mutex m(world.executor());
    int calls = 0;
    m.async_lock([&](error_code, mutex_guard) { ++calls; });
    EXPECT_EQ(calls, 0) << "inside async_lock";
    world.context.poll();
    EXPECT_EQ(calls, 1);
    auto held = m.try_lock();
    ASSERT_TRUE(held);
    m.async_lock([&](error_code, mutex_guard) { ++calls; });
    held.reset();
    EXPECT_EQ(calls, 1) << "inside unlock";
    world.settle();
    EXPECT_EQ(calls, 2);
}

CO_TEST(Mutex, KeepsExcludingWhileCoroutinesInterleave) {
    mutex m(world.executor());
    int inside = 0;
    int rounds = 0;
    const auto body = [&]() -> asio::awaitable<void> {
        for (int i = 0; i < 20; ++i) {
            const auto guard = co_await m.async_lock();
            EXPECT_EQ(++inside, 1);
            co_await sleep_for(world.time, 1ms);
            --inside;
            ++rounds;
        }
    };
    for (int i = 0; i < 5; ++i)
        world.start(body);
    co_await sleep_for(world.time, 1h);
    EXPECT_EQ(rounds, 100);
}

TEST(MutexGuard, UnlocksWhatItHeldBeforeItTakesAnother) {
    co_world world;
    mutex first(world.executor());
    mutex second(world.executor());
    auto guard = first.try_lock().value();
    guard = second.try_lock().value();
    EXPECT_TRUE(first.try_lock()) << "the first mutex was lost";
    EXPECT_FALSE(second.try_lock());
}

TEST(MutexGuard, MovesOwnership) {
    co_world world;
    mutex m(world.executor());
    auto from = m.try_lock().value();
    mutex_guard to = std::move(from);
    EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move): empty, as documented
    EXPECT_TRUE(to);
    from.unlock();  // NOLINT(clang-analyzer-cplusplus.Move)
    EXPECT_FALSE(m.try_lock()) << "an empty guard unlocked";
    auto& same = to;
    to = std::move(same);
    EXPECT_TRUE(to) << "self-assignment let go";
    to.unlock();
    to.unlock();
    EXPECT_TRUE(m.try_lock());
}

TEST(MutexGuard, MayOutliveTheMutex) {
    co_world world;
    auto m = std::make_unique<mutex>(world.executor());
    auto guard = m->try_lock();
    m.reset();
    EXPECT_TRUE(*guard);
    guard.reset();
}

TEST(Mutex, CompletesAllWaitersWhenItIsClosedOrDestroyed) {
    co_world world;
    std::optional<mutex> m(world.executor());
    const auto held = m->try_lock();
    int aborted = 0;
    const auto count = [&](error_code ec, mutex_guard guard) {
        aborted += ec == asio::error::operation_aborted && !guard;
    };
    m->async_lock(count);
    m->async_lock(count);
    m->close();
    m->async_lock(count);
    EXPECT_EQ(aborted, 0);
    world.settle();
    EXPECT_EQ(aborted, 3);
    m.emplace(world.executor());
    const auto again = m->try_lock();
    m->async_lock(count);
    m.reset();
    world.settle();
    EXPECT_EQ(aborted, 4);
}

TEST(Mutex, GoesToTheNextWhenAGrantedHandlerIsDestroyedUnrun) {
    auto context = std::make_unique<asio::io_context>();
    co_world world;
    mutex m(world.executor());
    auto held = m.try_lock();
    bool other = false;
    m.async_lock(asio::bind_executor(*context, [&](error_code, mutex_guard) { other = true; }));
    bool last = false;
    m.async_lock([&](error_code ec, mutex_guard guard) { last = !ec && guard; });
    held.reset();  // granted to the first, whose context will never run it
    world.settle();
    EXPECT_FALSE(last);
    context.reset();
    world.settle();
    EXPECT_FALSE(other);
    EXPECT_TRUE(last);
    EXPECT_TRUE(m.try_lock());
}

TEST(Mutex, CanBeWaitedForWithATimeLimit) {
    co_world world;
    mutex m(world.executor());
    auto held = m.try_lock();
    const auto outcome = world.start([&]() -> asio::awaitable<void> {
        auto r = co_await m.async_lock(asio::cancel_after(1ms, asio::as_tuple(asio::deferred)));
        auto& [ec, guard] = r;
        EXPECT_EQ(ec, asio::error::operation_aborted);
        EXPECT_FALSE(guard);
    });
    world.context.run();  // Asio's own timer counts real time
    EXPECT_TRUE(outcome->ended);
    held.reset();
    EXPECT_TRUE(m.try_lock());
}

class MutexCancellation : public testing::TestWithParam<asio::cancellation_type> {};

TEST_P(MutexCancellation, LeavesTheQueueAndTheOthersInIt) {
    co_world world;
    mutex m(world.executor());
    auto held = m.try_lock();
    asio::cancellation_signal signal;
    std::string order;
    const auto note = [&](char who) {
        return [&order, who](error_code ec, mutex_guard guard) {
            EXPECT_EQ(!ec, static_cast<bool>(guard));
            order += ec ? '-' : who;
        };
    };
    m.async_lock(note('a'));
    m.async_lock(asio::bind_cancellation_slot(signal.slot(), note('b')));
    m.async_lock(note('c'));
    signal.emit(GetParam());
    EXPECT_EQ(order, "") << "completed inside emit()";
    world.settle();
    EXPECT_EQ(order, "-");
    held.reset();
    world.settle();
    EXPECT_EQ(order, "-ac");
}

TEST_P(MutexCancellation, HasNoEffectOnceTheGrantWasDecided) {
    co_world world;
    mutex m(world.executor());
    auto held = m.try_lock();
    asio::cancellation_signal signal;
    bool granted = false;
    m.async_lock(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, mutex_guard guard) {
        granted = !ec && guard;
    }));
    held.reset();
    signal.emit(GetParam());
    world.settle();
    EXPECT_TRUE(granted);
    EXPECT_TRUE(m.try_lock());
}

TEST_P(MutexCancellation, SweptOverEachStepLeavesNothingHeld) {
    class locking : public test::sweep_case {
    public:
        explicit locking(co_world& world) : world_(world), mutex_(world.executor()) {
            for (int i = 0; i < 2; ++i)
                world_.start([this] { return hold(); });
        }

        asio::awaitable<void> operation() override {
            for (int i = 0; i < 2; ++i) {
                const auto guard = co_await mutex_.async_lock();
                co_await sleep_for(world_.time, 1s);
            }
        }

        void check(const co_world::outcome& outcome) override {
            const auto code = outcome.code();
            EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code;
            EXPECT_EQ(others_, 2) << "a hand-off was lost";
            EXPECT_TRUE(mutex_.try_lock());
            EXPECT_EQ(world_.time.next_deadline(), std::nullopt);
        }

    private:
        asio::awaitable<void> hold() {
            const auto guard = co_await mutex_.async_lock();
            co_await sleep_for(world_.time, 1s);
            ++others_;
        }

        co_world& world_;
        mutex mutex_;
        int others_ = 0;
    };
    const auto steps = test::cancel_sweep("mutex::async_lock", GetParam(), [](co_world& world) {
        return std::make_unique<locking>(world);
    });
    EXPECT_GE(steps, 8U);
    EXPECT_LE(steps, 100U);
}

INSTANTIATE_TEST_SUITE_P(
    Types, MutexCancellation, testing::ValuesIn(test::cancellation_types), test::param_name()
);

}  // namespace mortise::mutex_test
