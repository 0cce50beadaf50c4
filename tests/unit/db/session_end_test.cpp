// SPDX-License-Identifier: BSL-1.0
// Limits, stops, cancellation, and the end of what a session lives in.
#include "support/print.hpp"
#include "unit/db/db_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <optional>
#include <vector>

namespace mortise::test::db_session_end_test {
namespace {

using db::connection;
using db::durability;

class DbSessionEnd : public testing::Test {
protected:
    void settle() {
        world.context.restart();
        world.context.run();
    }

    db_world world;
};

TEST_F(DbSessionEnd, RefusesMoreThanItsQueueHolds) {
    auto config = world.config();
    config.queue_max = 2;
    db::sqlite session = world.open(config);
    std::vector<error_code> codes(3);
    {
        write_blocker block(session);
        for (auto& code : codes)
            session.async_run(add_cents(1, 1), durability::lazy, [&](error_code ec) { code = ec; });
    }
    settle();
    EXPECT_EQ(codes[0], error_code());
    EXPECT_EQ(codes[1], error_code());
    EXPECT_EQ(codes[2], coro::errc::queue_full);
    EXPECT_EQ(world.cents(1), 102);
}

TEST_F(DbSessionEnd, AStopAbortsWhatIsQueuedAndLetsTheRunningEnd) {
    db::sqlite session = world.open();
    std::promise<void> entered;
    std::promise<void> leave;
    error_code running = asio::error::in_progress;
    session.async_run(
        [&](connection& on) {
            entered.set_value();
            leave.get_future().wait();
            add_cents(1, 1)(on);
        },
        durability::force,
        [&](error_code ec) { running = ec; }
    );
    entered.get_future().wait();
    error_code queued;
    error_code late;
    error_code late_read;
    bool stopped = false;
    session.async_run(add_cents(1, 1), durability::lazy, [&](error_code ec) { queued = ec; });
    session.async_stop([&](error_code ec) {
        EXPECT_FALSE(ec);
        EXPECT_EQ(running, error_code()) << "before the last batch ended";
        stopped = true;
    });
    session.async_run(add_cents(1, 1), durability::lazy, [&](error_code ec) { late = ec; });
    session.async_read([](connection&) {}, [&](error_code ec) { late_read = ec; });
    world.context.poll();
    EXPECT_EQ(queued, asio::error::operation_aborted);
    EXPECT_EQ(late, asio::error::operation_aborted);
    EXPECT_EQ(late_read, asio::error::operation_aborted);
    EXPECT_FALSE(stopped);
    leave.set_value();
    settle();
    EXPECT_TRUE(stopped);
    EXPECT_EQ(world.cents(1), 101);
    stopped = false;
    session.async_stop([&](error_code ec) { stopped = !ec; });
    settle();
    EXPECT_TRUE(stopped) << "a second time";
}

TEST_F(DbSessionEnd, ADestroyedSessionAbortsWhatIsQueued) {
    std::optional<db::sqlite> session = world.open();
    error_code queued;
    {
        write_blocker block(*session);
        session->async_run(add_cents(1, 1), durability::lazy, [&](error_code ec) { queued = ec; });
        auto gone = std::async(std::launch::async, [&] { session.reset(); });
        while (queued != asio::error::operation_aborted)
            world.context.run_one();
        block.release();
    }
    settle();
    EXPECT_EQ(world.cents(1), 100);
}

TEST_F(DbSessionEnd, AMovedSessionGoesOn) {
    db::sqlite first = world.open();
    db::sqlite second = std::move(first);
    error_code code = asio::error::in_progress;
    second.async_run(add_cents(1, 1), durability::force, [&](error_code ec) { code = ec; });
    settle();
    EXPECT_EQ(code, error_code());
    EXPECT_EQ(second.path(), world.database());
    second = world.open();
    EXPECT_EQ(second.stats().transactions, 0u);
}

asio::awaitable<void> add_for_ever(db::sqlite& session) {
    for (;;) {
        co_await session.async_run(add_cents(1, 1));
        co_await session.async_read([](connection& on) {
            return on.query("SELECT cents FROM account").step();
        });
    }
}

// The frames of coroutines are destroyed with their context, at whatever point they wait.
TEST_F(DbSessionEnd, AContextMayEndAtWhateverHandlerWithWorkQueuedAndRunning) {
    for (std::size_t step = 0; step < 24; ++step) {
        asio::io_context context;
        std::vector<db::sqlite> sessions;
        sessions.emplace_back(context.get_executor(), world.config());
        for (int i = 0; i < 4; ++i)
            asio::co_spawn(context, add_for_ever(sessions.front()), asio::detached);
        for (std::size_t handlers = 0; handlers < step; ++handlers)
            context.run_one_for(std::chrono::milliseconds(10));
        if (step % 2 == 0)
            sessions.clear();
    }
    EXPECT_GT(world.cents(1), 100);
}

TEST_F(DbSessionEnd, AHandlersContextMayEndBeforeTheSession) {
    db::sqlite session = world.open();
    const auto held = std::make_shared<int>(0);
    {
        write_blocker block(session);
        asio::io_context other;
        for (int i = 0; i < 3; ++i)
            session.async_run(
                add_cents(1, 1),
                durability::force,
                asio::bind_executor(other.get_executor(), [held](error_code) {})
            );
        EXPECT_EQ(held.use_count(), 4);
    }
    EXPECT_EQ(held.use_count(), 1);
    error_code code = asio::error::in_progress;
    session.async_run(add_cents(2, 1), durability::force, [&](error_code ec) { code = ec; });
    settle();
    EXPECT_EQ(code, error_code());
    EXPECT_EQ(world.cents(1), 100) << "it was removed with its context, unrun";
}

class DbCancellation : public DbSessionEnd,
                       public testing::WithParamInterface<asio::cancellation_type> {};

TEST_P(DbCancellation, RemovesWhatIsQueuedAndLeavesTheRunningAlone) {
    db::sqlite session = world.open();
    std::promise<void> entered;
    std::promise<void> leave;
    std::array<asio::cancellation_signal, 2> signals;
    error_code running = asio::error::in_progress;
    error_code queued = asio::error::in_progress;
    session.async_run(
        [&](connection& on) {
            entered.set_value();
            leave.get_future().wait();
            add_cents(1, 1)(on);
        },
        durability::force,
        asio::bind_cancellation_slot(signals[0].slot(), [&](error_code ec) { running = ec; })
    );
    entered.get_future().wait();
    session.async_run(
        add_cents(2, 1),
        durability::force,
        asio::bind_cancellation_slot(signals[1].slot(), [&](error_code ec) { queued = ec; })
    );
    signals[0].emit(GetParam());
    signals[1].emit(GetParam());
    EXPECT_EQ(queued, asio::error::in_progress) << "completed inside emit()";
    leave.set_value();
    settle();
    EXPECT_EQ(running, error_code());
    EXPECT_EQ(queued, asio::error::operation_aborted);
    EXPECT_EQ(world.cents(1), 101);
    EXPECT_EQ(world.cents(2), 100);
}

// A signal before the n-th handler: the work was done if it was not said to be aborted, and only
// then. The threads make the number of handlers differ from run to run.
TEST_P(DbCancellation, SaysAbortedOnlyOfWhatWasNotDone) {
    db::sqlite session = world.open();
    std::int64_t done = 0;
    for (std::size_t step = 0; step < 12; ++step) {
        asio::cancellation_signal signal;
        bool ended = false;
        asio::co_spawn(
            world.context,
            [&]() -> asio::awaitable<void> {
                co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation()
                );
                for (int i = 0; i < 3; ++i) {
                    co_await session.async_run(add_cents(1, 1));
                    ++done;
                }
            },
            asio::bind_cancellation_slot(
                signal.slot(),
                [&](std::exception_ptr failure) {
                    ended = true;
                    try {
                        if (failure)
                            std::rethrow_exception(failure);
                    } catch (const boost::system::system_error& e) {
                        EXPECT_EQ(e.code(), asio::error::operation_aborted);
                    }
                }
            )
        );
        world.context.restart();
        for (std::size_t handlers = 0; !ended && handlers < step; ++handlers)
            world.context.run_one_for(std::chrono::seconds(1));
        if (!ended)
            signal.emit(GetParam());
        world.context.run();
        ASSERT_TRUE(ended);
        // One that ran while the signal came counts as done, although the coroutine ended there.
        const auto counted = world.cents(1) - 100;
        EXPECT_GE(counted, done);
        EXPECT_LE(counted, done + 1);
        done = counted;
    }
    EXPECT_GT(done, 3);
}

INSTANTIATE_TEST_SUITE_P(
    Types, DbCancellation, testing::ValuesIn(test::cancellation_types), test::param_name()
);

}  // namespace
}  // namespace mortise::test::db_session_end_test
