// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/error.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "mortise/db/postgres.hpp"
#include "support/eventually.hpp"
#include "support/tracker_executor.hpp"
#include "unit/postgres/postgres_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test::postgres_pool_test {
namespace {

using db::postgres_connection;
using std::chrono::milliseconds;

class PostgresPool : public testing::Test {
protected:
    PostgresPool() {
        config.connections_max = 2;
        config.check_after = std::chrono::hours(1);
    }

    /// Starts a transaction that lasts until `gate` is set; notes its end in `order`.
    void start(const std::string& name) {
        auto work = [this](postgres_connection& on) -> asio::awaitable<void> {
            co_await on.query("SELECT 1");
            ++running;
            most = std::max(most, running);
            co_await gate.async_wait();
            --running;
        };
        session->async_run(work, {}, [this, name](std::exception_ptr why) {
            order.push_back(name);
            failures.push_back(code_of(why));
        });
    }
    void until(const std::function<bool()>& so) {
        const auto end = clock::now() + std::chrono::seconds(60);
        world.step_while([&] { return !so() && clock::now() < end; });
        ASSERT_TRUE(so());
    }
    void open() { session = std::make_unique<db::postgres>(world.open(config)); }
    void once() { world.run(session->async_run(add_cents(1, 1), {}, asio::use_awaitable)); }

    postgres_world world;
    db::postgres_config config = world.config();
    coro::event gate{world.context.get_executor()};
    std::unique_ptr<db::postgres> session;
    int running = 0;
    int most = 0;
    std::vector<std::string> order;
    std::vector<error_code> failures;
};

TEST_F(PostgresPool, OpensNoMoreConnectionsThanItMayAndServesInOrder) {
    open();
    EXPECT_EQ(world.connections(), 0) << "none before it is needed";
    for (const char* const name : {"a", "b", "c", "d", "e"})
        start(name);
    until([&] { return running == 2; });
    EXPECT_EQ(session->stats().connections, 2u);
    EXPECT_EQ(session->stats().waiting, 3u);
    EXPECT_EQ(world.connections(), 2);
    gate.set();
    until([&] { return order.size() == 5; });
    EXPECT_EQ(most, 2);
    EXPECT_EQ(session->stats().connections_opened, 2u) << "all others have used them again";
    EXPECT_EQ(session->stats().committed, 5u);
    config.connections_max = 1;
    open();
    order.clear();
    for (const char* const name : {"a", "b", "c", "d", "e"})
        start(name);
    until([&] { return order.size() == 5; });
    EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
}

TEST_F(PostgresPool, AWaitHasALimitAndAQueueToo) {
    config.connections_max = 1;
    config.wait_max = milliseconds(50);
    config.queue_max = 1;
    open();
    start("holds");
    until([&] { return running == 1; });
    start("waits");
    start("finds the queue full");
    until([&] { return order.size() == 2; });
    EXPECT_EQ(order[0], "finds the queue full");
    EXPECT_EQ(failures[0], coro::errc::queue_full);
    EXPECT_EQ(failures[1], errc::no_connection_free);
    gate.set();
    until([&] { return order.size() == 3; });
    EXPECT_EQ(failures[2], error_code());
}

TEST_F(PostgresPool, WhoeverHasAConnectionOpenedIsNotInTheQueue) {
    config.connections_max = 2;
    config.wait_max = milliseconds(0);
    config.queue_max = 0;
    open();
    for (const char* const name : {"a", "b", "one too many"})
        start(name);
    until([&] { return running == 2; });
    until([&] { return order.size() == 1; });
    EXPECT_EQ(order[0], "one too many");
    EXPECT_EQ(failures[0], coro::errc::queue_full);
    gate.set();
    until([&] { return order.size() == 3; });
    EXPECT_EQ(failures[1], error_code());
    EXPECT_EQ(failures[2], error_code());
}

TEST_F(PostgresPool, ReplacesAConnectionThatHasLivedForLong) {
    config.lifetime_max = milliseconds(1);
    open();
    once();
    EXPECT_TRUE(eventually([&] { return world.connections() == 0; })) << "closed when it came back";
    once();
    EXPECT_EQ(session->stats().connections_opened, 2u);
}

TEST_F(PostgresPool, NoticesOnTakingThatTheServerHasEndedAConnection) {
    open();
    once();
    world.sql("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
              " WHERE application_name = 'mortise'");
    once();
    EXPECT_EQ(session->stats().connections_opened, 2u);
    EXPECT_EQ(world.cents(1), "102");
}

TEST_F(PostgresPool, AsksAnIdleConnectionForASignOfLife) {
    postgres_server own;
    postgres_world there(own);
    auto settings = there.config();
    const auto time = std::make_shared<coro::virtual_time>(there.context.get_executor());
    settings.time = time;
    auto away = there.open(settings);
    there.run(away.async_run(add_cents(1, 1), {}, asio::use_awaitable));
    time->advance(settings.check_after + milliseconds(1));
    there.run(away.async_run(add_cents(1, 1), {}, asio::use_awaitable));
    EXPECT_EQ(away.stats().connections_opened, 1u) << "it answers";
    own.suspend();
    time->advance(settings.check_after + milliseconds(1));
    std::optional<error_code> code;
    away.async_run(add_cents(1, 1), {}, [&](std::exception_ptr why) { code = code_of(why); });
    there.step_while([&] {
        time->advance(settings.connect_max / 10);
        return !code;
    });
    EXPECT_EQ(code, errc::store_unavailable) << "neither the old nor a new one does";
    own.resume();
    there.run(away.async_run(add_cents(1, 1), {}, asio::use_awaitable));
    EXPECT_EQ(there.cents(1), "103");
}

TEST_F(PostgresPool, EachWhoWaitsHearsThatNoneCanBeOpened) {
    const port_reservation nobody;
    config.servers[0].port = nobody.port();
    open();
    for (const char* const name : {"a", "b", "c", "d"})
        start(name);
    until([&] { return order.size() == 4; });
    for (const auto& each : failures)
        EXPECT_EQ(each, errc::store_unavailable);
    EXPECT_EQ(session->stats().connections, 0u);
    EXPECT_EQ(session->stats().connections_failed, 4u);
}

// The socket of a server that has ended refuses at once, inside of the call that opens.
TEST_F(PostgresPool, ThousandsHearThatNoneCanBeOpened) {
    postgres_server own;
    config.servers = {{own.socket_folder().string(), own.port()}};
    config.connections_max = 1;
    open();
    start("holds");
    until([&] { return running == 1; });
    for (int i = 0; i < 4'000; ++i)
        start("waits");
    until([&] { return session->stats().waiting == 4'000; });
    own.stop();
    gate.set();
    until([&] { return order.size() == 4'001; });
    EXPECT_EQ(session->stats().connections_failed, 4'000u);
}

TEST_F(PostgresPool, StopsWhenTheRunningTransactionsHaveEnded) {
    open();
    for (const char* const name : {"a", "b", "waits"})
        start(name);
    until([&] { return running == 2; });
    bool stopped = false;
    session->async_stop([&](error_code code) {
        EXPECT_FALSE(code);
        stopped = true;
    });
    until([&] { return order.size() == 1; });
    EXPECT_EQ(order[0], "waits");
    EXPECT_EQ(failures[0], asio::error::operation_aborted);
    EXPECT_FALSE(stopped);
    start("late");
    until([&] { return order.size() == 2; });
    EXPECT_EQ(failures[1], asio::error::operation_aborted);
    gate.set();
    until([&] { return stopped; });
    EXPECT_EQ(order.size(), 4u);
    EXPECT_EQ(failures[2], error_code());
    EXPECT_EQ(session->stats().connections, 0u);
    EXPECT_TRUE(eventually([&] { return world.connections() == 0; }));
    bool again = false;
    session->async_stop([&](error_code) { again = true; });
    until([&] { return again; });
}

TEST_F(PostgresPool, AnIdleSessionKeepsNoContextAtWork) {
    open();
    once();
    world.context.restart();
    world.context.run();
    EXPECT_EQ(session->stats().connections, 1u);
}

TEST_F(PostgresPool, IsDestroyedWithWhatRuns) {
    open();
    for (const char* const name : {"a", "b", "waits"})
        start(name);
    until([&] { return running == 2; });
    session.reset();
    until([&] { return order.size() == 1; });
    EXPECT_EQ(failures[0], asio::error::operation_aborted);
    gate.set();
    until([&] { return order.size() == 3; });
    EXPECT_EQ(failures[1], errc::store_unavailable);
    EXPECT_EQ(failures[2], errc::store_unavailable);
    EXPECT_TRUE(eventually([&] { return world.connections() == 0; }));
    EXPECT_EQ(world.cents(1), "100");
}

TEST_F(PostgresPool, CompletesOnTheExecutorOfTheHandlerAndNeverInside) {
    open();
    const tracker_executor tracker(world.context);
    int completed = 0;
    bool inside = true;
    auto work = [tracker](postgres_connection& on) -> asio::awaitable<void> {
        EXPECT_TRUE(tracker.runs_this()) << "the closure runs where its caller does";
        co_await on.query("SELECT 1");
        EXPECT_TRUE(tracker.runs_this());
    };
    session->async_run(work, {}, asio::bind_executor(tracker, [&](std::exception_ptr why) {
                           EXPECT_FALSE(why) << text_of(why);
                           EXPECT_TRUE(tracker.runs_this());
                           EXPECT_FALSE(inside);
                           ++completed;
                       }));
    inside = false;
    until([&] { return completed == 1; });
    session->async_stop(asio::bind_executor(tracker, [&](error_code) {
        EXPECT_TRUE(tracker.runs_this());
        ++completed;
    }));
    until([&] { return completed == 2; });
}

// Any thread may begin, cancel and end transactions; the sanitizers judge.
TEST_F(PostgresPool, ServesManyThreads) {
    asio::thread_pool threads(4);
    config.connections_max = 4;
    db::postgres shared(threads.get_executor(), config);
    constexpr int coroutines = 32;
    constexpr int rounds = 8;
    std::atomic<int> written{0};
    for (int i = 0; i < coroutines; ++i) {
        asio::co_spawn(
            asio::make_strand(threads),
            [&shared, &written, i]() -> asio::awaitable<void> {
                auto work = [](postgres_connection& on) -> asio::awaitable<void> {
                    co_await on.query("UPDATE account SET cents = cents + 1 WHERE id = 1");
                };
                for (int round = 0; round < rounds; ++round) {
                    if (i % 4 != 0) {
                        co_await shared.async_run(work);
                        ++written;
                        continue;
                    }
                    auto timed = shared.async_run(
                        work,
                        {},
                        asio::cancel_after(
                            std::chrono::microseconds(500 * round), asio::as_tuple(asio::deferred)
                        )
                    );
                    const auto outcome = co_await std::move(timed);
                    if (!std::get<0>(outcome))
                        ++written;
                    else
                        EXPECT_EQ(code_of(std::get<0>(outcome)), asio::error::operation_aborted);
                }
            },
            [](std::exception_ptr why) { EXPECT_FALSE(why) << text_of(why); }
        );
    }
    threads.join();
    EXPECT_EQ(world.cents(1), std::to_string(100 + written));
    EXPECT_GE(written, coroutines * rounds * 3 / 4);
}

// Nothing may leak, or be used after its end; the sanitizer judges.
TEST_F(PostgresPool, TheContextMayEndAtAnyMoment) {
    for (int handlers = 0; handlers < 40; ++handlers) {
        asio::io_context other;
        auto away = std::make_shared<db::postgres>(other.get_executor(), config);
        for (int i = 0; i < 3; ++i) {
            auto work = [](postgres_connection& on) -> asio::awaitable<void> {
                co_await on.query("SELECT pg_sleep(0.001)");
                co_await on.query("UPDATE account SET cents = cents + 1 WHERE id = 1");
            };
            // The coroutine that waits owns the session.
            asio::co_spawn(
                other,
                [away, work]() -> asio::awaitable<void> {
                    co_await away->async_run(work, {}, asio::use_awaitable);
                },
                asio::detached
            );
        }
        away.reset();
        for (int i = 0; i < handlers; ++i)
            other.run_one_for(milliseconds(20));
    }
    EXPECT_TRUE(eventually([&] { return world.connections() == 0; }));
}

}  // namespace
}  // namespace mortise::test::postgres_pool_test
