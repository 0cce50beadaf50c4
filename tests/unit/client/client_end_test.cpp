// SPDX-License-Identifier: BSL-1.0
#include "mortise/open_store.hpp"
#include "mortise/with_lock.hpp"
#include "support/machine_delay.hpp"
#include "unit/client/client_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

// Under LeakSanitizer each of these shows that nothing is kept, and under ASan that nothing is
// touched.
TEST(ClientEnd, AContextMayEndWhileCoroutinesHoldAndWait) {
    asio::io_context context;
    lock_client outside(context.get_executor(), open_store("memory:end-a"));
    bool holds = false;
    asio::co_spawn(
        asio::make_strand(context),
        [&]() -> asio::awaitable<void> {
            lock_client inside(co_await asio::this_coro::executor, open_store("memory:end-a"));
            lease held = co_await inside.async_acquire("door");
            holds = true;
            lease never = co_await inside.async_acquire("door");
        },
        asio::detached
    );
    asio::co_spawn(
        asio::make_strand(context),
        [&]() -> asio::awaitable<void> { lease never = co_await outside.async_acquire("door"); },
        asio::detached
    );
    while (!holds)
        context.run_one();
    context.run_for(10ms);
    EXPECT_EQ(outside.stats().waiting, 1u);
}

// The strand runs later: whoever looks at a lease in between must not believe in it.
TEST(ClientEnd, LeasesAreLostFromTheCallOn) {
    for (const bool stopped : {true, false}) {
        SCOPED_TRACE(stopped ? "async_stop" : "destructor");
        asio::io_context context;
        std::optional<lock_client> locks(
            std::in_place, context.get_executor(), open_store("memory:")
        );
        acquire_outcome outcome;
        locks->async_acquire("door", lock_options(), client_world::record(outcome));
        while (!outcome.done)
            context.run_one();
        ASSERT_EQ(outcome.held.state(), lease_state::held);
        std::optional<error_code> end;
        if (stopped)
            locks->async_stop([&](error_code code) { end = code; });
        else
            locks.reset();
        EXPECT_EQ(outcome.held.state(), lease_state::lost);
        EXPECT_FALSE(outcome.held.held());
        EXPECT_EQ(outcome.held.check(), errc::client_stopped);
        EXPECT_LE(outcome.held.valid_until(), clock::now());
        std::optional<error_code> released;
        outcome.held.async_release([&](error_code code) { released = code; });
        context.run();
        EXPECT_EQ(end.has_value(), stopped);
        EXPECT_EQ(released, errc::client_stopped);
    }
}

// The handler of a waiter may let go of a lease that is lost by this call; that must not pass the
// lock on inside of the call.
TEST(ClientEnd, NobodyIsServedFromTheCallOn) {
    for (const bool stopped : {true, false}) {
        SCOPED_TRACE(stopped ? "async_stop" : "destructor");
        asio::io_context context;
        std::optional<lock_client> locks(
            std::in_place, context.get_executor(), open_store("memory:")
        );
        acquire_outcome first;
        acquire_outcome second;
        acquire_outcome asking;
        locks->async_acquire("door", lock_options(), client_world::record(first));
        locks->async_acquire("door", lock_options(), client_world::record(second));
        while (!first.done)
            context.run_one();
        locks->async_acquire("gate", lock_options(), client_world::record(asking));
        if (stopped)
            locks->async_stop(asio::detached);
        else
            locks.reset();
        first.held = lease();
        context.run();
        for (const acquire_outcome* each : {&second, &asking}) {
            EXPECT_TRUE(each->done);
            EXPECT_EQ(each->code, errc::client_stopped);
            EXPECT_FALSE(each->held.token());
        }
    }
}

TEST(ClientEnd, AClientNeedsAStore) {
    asio::io_context context;
    try {
        const lock_client none(context.get_executor(), nullptr);
        ADD_FAILURE() << "it has no store";
    } catch (const error& why) {
        EXPECT_EQ(why.code(), errc::bad_config);
        EXPECT_NE(std::string(why.what()).find("open_store"), std::string::npos) << why.what();
    }
}

TEST(ClientEnd, AContextMayEndBeforeItsClientAndItsLeases) {
    std::optional<asio::io_context> context(std::in_place);
    lock_client locks(context->get_executor(), open_store("memory:"));
    acquire_outcome outcome;
    locks.async_acquire("door", lock_options(), client_world::record(outcome));
    while (!outcome.done)
        context->run_one();
    EXPECT_TRUE(outcome.held.held());
    context.reset();
    EXPECT_NE(outcome.held.state(), lease_state::held);
}

// A server in memory takes its time from its clients, and keeps the clock of none that is gone: its
// executor may be gone, too.
TEST(ClientEnd, AServerInMemoryOutlivesTheContextsOfItsClients) {
    memory_server server;
    const auto use = [&server] {
        asio::io_context context;
        lock_client locks(asio::make_strand(context), server.make_store());
        acquire_outcome outcome;
        locks.async_acquire("door", lock_options(), client_world::record(outcome));
        while (!outcome.done)
            context.run_one();
        EXPECT_TRUE(outcome.held.held());
    };
    use();
    use();
    EXPECT_EQ(server.entries(), 0u);
    server.restart(false);
}

TEST(ClientEnd, WhatIsAskedAfterTheEndOfTheContextIsRefused) {
    std::optional<asio::io_context> context(std::in_place);
    asio::io_context other;
    lock_client locks(context->get_executor(), open_store("memory:"));
    acquire_outcome outcome;
    locks.async_acquire("door", lock_options(), client_world::record(outcome));
    while (!outcome.done)
        context->run_one();
    context.reset();
    std::vector<error_code> answers;
    const auto keep = [&](error_code code, auto&&...) { answers.push_back(code); };
    const auto here = asio::bind_executor(other, keep);
    locks.async_acquire("door", lock_options(), here);
    locks.async_list("", 1, 1, here);
    locks.async_inspect("door", 1, here);
    locks.async_watch(here);
    locks.async_examine(here);
    outcome.held.async_wait_lost(here);
    other.run();
    EXPECT_EQ(answers, std::vector<error_code>(6, errc::client_stopped));
    locks.async_stop(here);
    other.restart();
    other.run();
    ASSERT_EQ(answers.size(), 7u);
    EXPECT_EQ(answers.back(), errc::outcome_unknown);
}

TEST(ClientEnd, AContextMayEndInsideWithLock) {
    asio::io_context context;
    bool inside = false;
    asio::co_spawn(
        asio::make_strand(context),
        [&]() -> asio::awaitable<void> {
            lock_client locks(co_await asio::this_coro::executor, open_store("memory:"));
            auto body = [&](const lease& held) -> asio::awaitable<void> {
                inside = held.held();
                co_await coro::make_boot_time_source(co_await asio::this_coro::executor)
                    ->async_wait_until(clock::time_point::max());
            };
            co_await with_lock(locks, "door", {}, body);
        },
        asio::detached
    );
    while (!inside)
        context.run_one();
}

TEST(ClientEnd, AClientThatIsNeverRunMayBeDestroyed) {
    asio::io_context context;
    acquire_outcome outcome;
    {
        lock_client locks(context.get_executor(), open_store("memory:"));
        locks.async_acquire("door", lock_options(), client_world::record(outcome));
    }
    context.run();
    EXPECT_TRUE(outcome.done);
    EXPECT_NE(outcome.held.state(), lease_state::held);
}

TEST(ClientEnd, RunReturnsWhenTheClientIsGone) {
    asio::io_context context;
    asio::co_spawn(
        asio::make_strand(context),
        []() -> asio::awaitable<void> {
            lock_client locks(co_await asio::this_coro::executor, open_store("memory:"));
            lease held = co_await locks.async_acquire("door");
        },
        asio::detached
    );
    const machine_delay delay;
    const auto start = clock::now();
    context.run();
    EXPECT_LT(clock::now() - start, 1s + delay.so_far());
}

TEST(ClientEnd, AForkedChildHoldsNothing) {
    client_world world;
    lock_client locks = world.client();
    lease held = world.acquire(locks, "door");
    const pid_t child = ::fork();
    if (child == 0) {
        int wrong = 0;
        wrong += held.state() != lease_state::lost;
        wrong += 2 * (held.check() != errc::forked);
        {
            lease gone = std::move(held);  // its destructor does nothing
        }
        wrong += 4 * (world.server.entries() != 1);
        asio::io_context of_child;
        error_code stopped;
        locks.async_stop(asio::bind_executor(of_child, [&](error_code code) { stopped = code; }));
        of_child.poll();
        wrong += 8 * (stopped != errc::forked);
        ::_exit(wrong);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(held.held());
}

TEST(ClientEnd, FourThreadsShareAClientAndNeverMeet) {
    asio::thread_pool pool(4);
    lock_client locks(pool.get_executor(), open_store("memory:"));
    std::atomic<int> inside = 0;
    std::atomic<int> met = 0;
    std::vector<std::future<void>> all;
    for (int task = 0; task < 16; ++task) {
        all.push_back(asio::co_spawn(
            asio::make_strand(pool),
            [&]() -> asio::awaitable<void> {
                for (int i = 0; i < 50; ++i) {
                    lease held = co_await locks.async_acquire("door");
                    met += ++inside != 1;
                    met += !held.held();
                    --inside;
                    if (i % 2)
                        co_await held.async_release();
                }
            },
            asio::use_future
        ));
    }
    for (auto& each : all)
        each.get();
    EXPECT_EQ(met, 0);
    locks.async_stop(asio::use_future).get();
    const auto stats = locks.stats();
    EXPECT_EQ(stats.granted, 800u);
    EXPECT_EQ(stats.leases, 0u);
    EXPECT_EQ(stats.lost, 0u);
}

TEST(ClientEnd, HandlersRunOnTheirOwnExecutorAndNeverInside) {
    asio::io_context context;
    asio::io_context other;
    lock_client locks(context.get_executor(), open_store("memory:"));
    bool done = false;
    locks.async_acquire(
        "door",
        lock_options(),
        asio::bind_executor(
            other.get_executor(),
            [&](error_code, lease held) {
                done = true;
                EXPECT_TRUE(other.get_executor().running_in_this_thread());
                EXPECT_TRUE(held.held());
            }
        )
    );
    EXPECT_FALSE(done);
    while (!done) {
        context.poll();
        EXPECT_FALSE(done);
        other.restart();
        other.poll();
    }
    bool refused = false;
    locks.async_acquire("", lock_options(), [&](error_code code, lease) {
        refused = true;
        EXPECT_EQ(code, errc::name_empty);
    });
    EXPECT_FALSE(refused);
    context.restart();
    context.poll();
    EXPECT_TRUE(refused);
}

TEST(ClientEnd, AnyTokenOfAsioServesAndCancelAfterEndsAWait) {
    asio::io_context context;
    lock_client locks(context.get_executor(), open_store("memory:"));
    const auto main = [&]() -> asio::awaitable<void> {
        lease held = co_await locks.async_acquire("door", {.wait_max = 1s}, asio::use_awaitable);
        auto late = co_await locks.async_acquire(
            "door", lock_options(), asio::cancel_after(10ms, asio::as_tuple(asio::deferred))
        );
        EXPECT_EQ(std::get<0>(late), asio::error::operation_aborted);
        auto either = co_await (
            locks.async_acquire("door", lock_options(), asio::use_awaitable) ||
            locks.async_acquire("window", lock_options(), asio::use_awaitable)
        );
        EXPECT_EQ(either.index(), 1u);
        EXPECT_EQ(locks.stats().waiting, 0u);
        co_await locks.async_stop();
    };
    auto future = asio::co_spawn(asio::make_strand(context), main(), asio::use_future);
    context.run();
    future.get();
}

}  // namespace
}  // namespace mortise::test
