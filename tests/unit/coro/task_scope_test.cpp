// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/event.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/task_scope.hpp"
#include "support/co_test.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <stdexcept>

namespace mortise::task_scope_test {

using namespace std::chrono_literals;
using coro::event;
using coro::sleep_for;
using coro::task_scope;
using test::co_world;

asio::awaitable<void> sleep_and_count(co_world& world, clock::duration span, int& count) {
    co_await sleep_for(world.time, span);
    ++count;
}

asio::awaitable<void> sleep_and_throw(co_world& world, clock::duration span, const char* text) {
    co_await sleep_for(world.time, span);
    throw std::runtime_error(text);
}

CO_TEST(TaskScope, JoinWaitsForAllTasks) {
    task_scope scope(world.executor());
    int count = 0;
    scope.spawn(sleep_and_count(world, 3s, count));
    scope.spawn(sleep_and_count(world, 1s, count));
    scope.spawn(sleep_and_count(world, 2s, count));
    EXPECT_EQ(scope.size(), 3U);
    const auto start = world.time.now();
    co_await scope.join();
    EXPECT_EQ(count, 3);
    EXPECT_EQ(scope.size(), 0U);
    EXPECT_EQ(world.time.now(), start + 3s);
}

CO_TEST(TaskScope, StartsATaskLaterAndNotInsideSpawn) {
    task_scope scope(world.executor());
    bool started = false;
    const auto task = [&]() -> asio::awaitable<void> {
        started = true;
        co_return;
    };
    scope.spawn(task());
    EXPECT_FALSE(started);
    co_await scope.join();
    EXPECT_TRUE(started);
}

CO_TEST(TaskScope, JoinOfAnEmptyScopeEndsAndItCanBeUsedAgain) {
    task_scope scope(world.executor());
    co_await scope.join();
    int count = 0;
    scope.spawn(sleep_and_count(world, 1s, count));
    co_await scope.join();
    co_await scope.join();
    EXPECT_EQ(count, 1);
}

CO_TEST(TaskScope, JoinAlsoWaitsForTasksThatTasksSpawned) {
    task_scope scope(world.executor());
    int count = 0;
    const auto parent = [&]() -> asio::awaitable<void> {
        co_await sleep_for(world.time, 1s);
        scope.spawn(sleep_and_count(world, 5s, count));
    };
    scope.spawn(parent());
    co_await scope.join();
    EXPECT_EQ(count, 1);
}

CO_TEST(TaskScope, JoinRethrowsTheFirstExceptionWhenAllHaveEnded) {
    task_scope scope(world.executor());
    int count = 0;
    scope.spawn(sleep_and_throw(world, 2s, "second"));
    scope.spawn(sleep_and_throw(world, 1s, "first"));
    scope.spawn(sleep_and_count(world, 3s, count));
    std::string message;
    try {
        co_await scope.join();
    } catch (const std::runtime_error& e) {
        message = e.what();
    }
    EXPECT_EQ(message, "first");
    EXPECT_EQ(count, 1);
    co_await scope.join();  // it was delivered once
}

CO_TEST(TaskScope, CancelEndsTasksAndIsNotAFailure) {
    task_scope scope(world.executor());
    int count = 0;
    scope.spawn(sleep_and_count(world, 1h, count));
    scope.spawn(sleep_and_count(world, clock::duration::max(), count));
    co_await sleep_for(world.time, 1s);
    const auto start = world.time.now();
    scope.cancel();
    co_await scope.join();
    EXPECT_EQ(count, 0);
    EXPECT_EQ(world.time.now(), start);
}

CO_TEST(TaskScope, CancelReachesTasksThatHaveNotStartedYet) {
    task_scope scope(world.executor());
    int count = 0;
    scope.spawn(sleep_and_count(world, 1h, count));
    scope.cancel();
    scope.spawn(sleep_and_count(world, 1h, count));
    co_await scope.join();
    EXPECT_EQ(count, 0);
}

CO_TEST(TaskScope, KeepsAnAbortThatNobodyAskedFor) {
    task_scope scope(world.executor());
    const auto task = []() -> asio::awaitable<void> {
        throw boost::system::system_error(asio::error::operation_aborted);
        co_return;
    };
    scope.spawn(task());
    error_code code;
    try {
        co_await scope.join();
    } catch (const boost::system::system_error& e) {
        code = e.code();
    }
    EXPECT_EQ(code, asio::error::operation_aborted);
}

TEST(TaskScope, CancellingTheJoinCancelsTheTasksAndStillWaitsForThem) {
    co_world world;
    task_scope scope(world.executor());
    bool cleaned = false;
    bool joined = false;
    bool went_on = false;
    const auto task = [&]() -> asio::awaitable<void> {
        try {
            co_await sleep_for(world.time, 1h);
        } catch (const boost::system::system_error&) {
        }
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        co_await sleep_for(world.time, 5s);
        cleaned = true;
    };
    const auto owner = [&]() -> asio::awaitable<void> {
        scope.spawn(task());
        co_await scope.join();
        joined = true;
        co_await sleep_for(world.time, 1s);
        went_on = true;
    };
    asio::cancellation_signal signal;
    const auto outcome = std::make_shared<co_world::outcome>();
    asio::co_spawn(
        world.context,
        owner(),
        asio::bind_cancellation_slot(signal.slot(), co_world::record(outcome))
    );
    world.pass(1s);
    signal.emit(asio::cancellation_type::terminal);
    world.pass(1s);
    EXPECT_FALSE(joined);
    world.pass(10s);
    EXPECT_TRUE(cleaned);
    EXPECT_TRUE(joined);
    EXPECT_FALSE(went_on) << "the join must hand the cancellation back to its coroutine";
    EXPECT_EQ(outcome->code(), asio::error::operation_aborted);
}

TEST(TaskScope, JoinInACoroutineThatWasCancelledBeforeCancelsTheTasks) {
    co_world world;
    task_scope scope(world.executor());
    int count = 0;
    bool joined = false;
    const auto owner = [&]() -> asio::awaitable<void> {
        co_await asio::this_coro::throw_if_cancelled(false);
        scope.spawn(sleep_and_count(world, 1h, count));
        co_await asio::post(asio::deferred);
        co_await scope.join();
        joined = true;
        EXPECT_FALSE(co_await asio::this_coro::throw_if_cancelled());
    };
    asio::cancellation_signal signal;
    const auto outcome = std::make_shared<co_world::outcome>();
    asio::co_spawn(
        world.context,
        owner(),
        asio::bind_cancellation_slot(signal.slot(), co_world::record(outcome))
    );
    world.context.poll_one();
    signal.emit(asio::cancellation_type::terminal);
    world.pass(1s);
    EXPECT_TRUE(joined);
    EXPECT_EQ(count, 0);
}

TEST(TaskScopeDeathTest, AbortsWhenItIsDestroyedBeforeItsTasksWereJoined) {
    const auto forget_to_join = [] {
        co_world world;
        int count = 0;
        {
            task_scope scope(world.executor());
            scope.spawn(sleep_and_count(world, 1s, count));
        }
        world.settle();
    };
    EXPECT_DEATH(forget_to_join(), "task_scope.cpp.*joined_before_it_was_destroyed");
}

TEST(TaskScope, MayGoWithItsContextWhileTasksWait) {
    const auto alive = std::make_shared<int>(0);
    {
        co_world world;
        const auto owner = [&world, alive]() -> asio::awaitable<void> {
            task_scope scope(world.executor());
            event never(world.executor());
            const auto task = [&never, &world](std::shared_ptr<int>) -> asio::awaitable<void> {
                event own(world.executor());
                co_await never.async_wait();
            };
            for (int i = 0; i < 3; ++i)
                scope.spawn(task(alive));
            co_await scope.join();
        };
        world.start(owner);
        world.pass(1s);
        EXPECT_GT(alive.use_count(), 3);
    }
    EXPECT_EQ(alive.use_count(), 1);
}

TEST(TaskScope, MayOutliveItsContext) {
    auto context = std::make_unique<asio::io_context>();
    task_scope scope(context->get_executor());
    event never(context->get_executor());
    const auto task = [&]() -> asio::awaitable<void> { co_await never.async_wait(); };
    scope.spawn(task());
    context->poll();
    EXPECT_EQ(scope.size(), 1U);
    context.reset();
}

}  // namespace mortise::task_scope_test
