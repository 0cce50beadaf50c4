// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/error.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "support/eventually.hpp"
#include "support/tracker_executor.hpp"
#include "unit/session/session_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test::session_pool_test {
namespace {

using connection = session_kind::connection;
using std::chrono::milliseconds;

class SessionPool : public testing::Test {
protected:
    SessionPool() {
        config.connections_max = 2;
        config.check_after = std::chrono::hours(1);
    }

    /// Starts a transaction that lasts until `gate` is set; notes its end in `order`.
    void start(const std::string& name) {
        auto work = [this](connection& on) -> asio::awaitable<void> {
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
    void until(const std::function<bool()>& so) { ASSERT_TRUE(world.reaches(so)); }
    void open() { session = std::make_unique<session_world::session>(world.open(config)); }
    void once() { world.run(session->async_run(add_cents(1, 1), {}, asio::use_awaitable)); }

    session_world world;
    session_kind::config config = world.config();
    coro::event gate{world.context.get_executor()};
    std::unique_ptr<session_world::session> session;
    int running = 0;
    int most = 0;
    std::vector<std::string> order;
    std::vector<error_code> failures;
};

TEST_F(SessionPool, OpensNoMoreConnectionsThanItMayAndServesInOrder) {
    // The server takes its time to end those of the test before.
    ASSERT_TRUE(eventually([&] { return world.connections() == 0; }));
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

TEST_F(SessionPool, AWaitHasALimitAndAQueueToo) {
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

TEST_F(SessionPool, WhoeverHasAConnectionOpenedIsNotInTheQueue) {
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

TEST_F(SessionPool, ReplacesAConnectionThatHasLivedForLong) {
    config.lifetime_max = milliseconds(1);
    open();
    once();
    until([&] { return world.connections() == 0; });  // it was closed when it came back
    once();
    EXPECT_EQ(session->stats().connections_opened, 2u);
}

TEST_F(SessionPool, NoticesOnTakingThatTheServerHasEndedAConnection) {
    open();
    once();
    world.end_connections();
    once();
    EXPECT_EQ(session->stats().connections_opened, 2u);
    EXPECT_EQ(world.cents(1), "102");
}

TEST_F(SessionPool, AsksAnIdleConnectionForASignOfLife) {
    auto& own = spare_server();
    session_world there(own);
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

TEST_F(SessionPool, EachWhoWaitsHearsThatNoneCanBeOpened) {
    const port_reservation nobody;
    session_kind::place(config, nobody.port());
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
TEST_F(SessionPool, ThousandsHearThatNoneCanBeOpened) {
    auto& own = spare_server();
    session_world there(own);
    config = there.config();
    config.check_after = std::chrono::hours(1);
    session_kind::place_at_socket(config, own);
    config.connections_max = 1;
    open();
    start("holds");
    until([&] { return running == 1; });
    for (int i = 0; i < 2'000; ++i)
        start("waits");
    until([&] { return session->stats().waiting == 2'000; });
    own.stop();
    gate.set();
    until([&] { return order.size() == 2'001; });
    EXPECT_EQ(session->stats().connections_failed, 2'000u);
}

TEST_F(SessionPool, StopsWhenTheRunningTransactionsHaveEnded) {
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
    until([&] { return world.connections() == 0; });
    bool again = false;
    session->async_stop([&](error_code) { again = true; });
    until([&] { return again; });
}

TEST_F(SessionPool, AnIdleSessionKeepsNoContextAtWork) {
    open();
    once();
    world.context.restart();
    world.context.run();
    EXPECT_EQ(session->stats().connections, 1u);
}

TEST_F(SessionPool, IsDestroyedWithWhatRuns) {
    open();
    for (const int id : {1, 2}) {
        const auto change = [this, id](connection& on) -> asio::awaitable<void> {
            co_await add_cents(id, 1)(on);
            ++running;
            co_await gate.async_wait();
        };
        session->async_run(change, {}, [this](std::exception_ptr why) {
            order.emplace_back("runs");
            failures.push_back(code_of(why));
        });
    }
    start("waits");
    until([&] { return running == 2; });
    session.reset();
    until([&] { return order.size() == 1; });
    EXPECT_EQ(order[0], "waits");
    EXPECT_EQ(failures[0], asio::error::operation_aborted);
    gate.set();
    until([&] { return order.size() == 3; });
    EXPECT_EQ(failures[1], errc::store_unavailable);
    EXPECT_EQ(failures[2], errc::store_unavailable);
    until([&] { return world.connections() == 0; });
    EXPECT_EQ(world.cents(1) + world.cents(2), "100100");
}

TEST_F(SessionPool, CompletesOnTheExecutorOfTheHandlerAndNeverInside) {
    open();
    const tracker_executor tracker(world.context);
    int completed = 0;
    bool inside = true;
    auto work = [tracker](connection& on) -> asio::awaitable<void> {
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
    inside = true;
    session->async_query(
        db::bound_sql("SELECT 1"),
        asio::bind_executor(
            tracker,
            [&](std::exception_ptr why, const db::query_result&) {
                EXPECT_FALSE(why) << text_of(why);
                EXPECT_TRUE(tracker.runs_this());
                EXPECT_FALSE(inside);
                ++completed;
            }
        )
    );
    inside = false;
    until([&] { return completed == 2; });
    inside = true;
    session->async_stop(asio::bind_executor(tracker, [&](error_code) {
        EXPECT_TRUE(tracker.runs_this());
        EXPECT_FALSE(inside);
        ++completed;
    }));
    inside = false;
    until([&] { return completed == 3; });
}

// Any thread may begin, cancel and end transactions; the sanitizers judge.
TEST_F(SessionPool, ServesManyThreads) {
    asio::thread_pool threads(4);
    config.connections_max = 4;
    session_world::session shared(threads.get_executor(), config);
    constexpr int coroutines = 32;
    constexpr int rounds = 8;
    std::atomic<int> written{0};
    for (int i = 0; i < coroutines; ++i) {
        asio::co_spawn(
            asio::make_strand(threads),
            [&shared, &written, i]() -> asio::awaitable<void> {
                auto work = [](connection& on) -> asio::awaitable<void> {
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
TEST_F(SessionPool, TheContextMayEndAtAnyMoment) {
    for (int handlers = 0; handlers < 40; ++handlers) {
        asio::io_context other;
        auto away = std::make_shared<session_world::session>(other.get_executor(), config);
        for (int i = 0; i < 3; ++i) {
            auto work = [](connection& on) -> asio::awaitable<void> {
                co_await on.query(session_kind::sleep_short);
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
    until([&] { return world.connections() == 0; });
}

TEST_F(SessionPool, LetsAWaiterGoThatIsCancelled) {
    config.connections_max = 1;
    open();
    start("a");
    until([&] { return running == 1; });
    asio::cancellation_signal signal;
    std::optional<error_code> left;
    session->async_run(
        add_cents(1, 1),
        {},
        asio::bind_cancellation_slot(
            signal.slot(), [&](std::exception_ptr why) { left = code_of(why); }
        )
    );
    start("c");
    until([&] { return session->stats().waiting == 2; });
    signal.emit(asio::cancellation_type::total);
    until([&] { return left.has_value(); });
    EXPECT_EQ(left, asio::error::operation_aborted);
    gate.set();
    until([&] { return order.size() == 2; });
    EXPECT_EQ(order, (std::vector<std::string>{"a", "c"}));
    EXPECT_EQ(world.cents(1), "100");
}

// A server that does not greet must not hold up the end.
TEST_F(SessionPool, AStopDoesNotWaitForConnectionsThatAreBeingOpened) {
    asio::ip::tcp::acceptor silent(world.context, {asio::ip::address_v4::loopback(), 0});
    session_kind::place(config, silent.local_endpoint().port());
    config.connect_max = std::chrono::hours(1);
    open();
    start("waits");
    until([&] { return session->stats().in_use == 1; });
    bool stopped = false;
    session->async_stop([&](error_code code) { stopped = !code; });
    until([&] { return stopped && order.size() == 1; });
    EXPECT_EQ(failures[0], asio::error::operation_aborted);
}

TEST_F(SessionPool, IsLeftAloneByAForkedChild) {
    open();
    const auto number = [&] {
        auto asking = session->query(session_kind::own_number);
        return world.run([](auto question) -> asio::awaitable<std::int64_t> {
            const auto found = co_await std::move(question);
            co_return found.first().integer(0);
        }(std::move(asking)));
    };
    const auto before = number();
    const pid_t child = ::fork();
    if (child == 0) {
        session.reset();
        ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(number(), before);
}

}  // namespace
}  // namespace mortise::test::session_pool_test
