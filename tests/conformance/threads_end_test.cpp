// SPDX-License-Identifier: BSL-1.0
// Ends on four threads: of clients while others wait, of leases after their clients, of the threads
// themselves in the middle of everything.
#include "conformance/port_conformance.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

namespace mortise::test::threads_end_test {
namespace {

using namespace std::chrono_literals;

constexpr auto coded = asio::as_tuple(asio::deferred);
constexpr int coroutines = 12;

asio::awaitable<void> hop() {
    co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
}

/// Counts those who want the lock of a client that goes away.
struct visitors {
    std::atomic<int> arrived = 0;
    std::atomic<int> ended = 0;
    std::atomic<bool> held = false;
};

asio::awaitable<void> visit(threaded_world& world, lock_client& locks, visitors& all) {
    auto asking = locks.async_acquire("door", lock_options(), coded);
    ++all.arrived;
    auto got = co_await std::move(asking);
    auto& [code, mine] = got;
    if (code) {
        EXPECT_EQ(code, errc::client_stopped);
        ++all.ended;
        co_return;
    }
    EXPECT_FALSE(all.held.exchange(true)) << "two of them have it";
    auto lost = co_await mine.async_wait_lost(coded);
    EXPECT_EQ(std::get<0>(lost), errc::client_stopped);
    // The lease outlives its client, and ends on whichever thread.
    asio::post(world.pool(), [last = std::move(mine), &all]() mutable {
        EXPECT_EQ(last.check(), errc::client_stopped);
        last = lease();
        ++all.ended;
    });
}

asio::awaitable<void>
destroy(std::unique_ptr<lock_client>& locks, const visitors& all, lock_client& other) {
    while (all.arrived < coroutines || !all.held || locks->stats().waiting + 1 < coroutines)
        co_await hop();
    locks.reset();
    while (all.ended < coroutines)
        co_await hop();
    // The lock is free when the store sees the end, at the latest after a TTL.
    lease next = co_await other.async_acquire("door");
    EXPECT_TRUE(next.held());
    co_await next.async_release();
}

TEST_P(LockThreadsEnd, AClientIsDestroyedOnAnotherThreadWhileItsCoroutinesWait) {
    for (int i = 0; i < 5; ++i) {
        lock_client other = world.client();
        auto locks = std::make_unique<lock_client>(world.client_with_ttl(1s));
        visitors all;
        for (int j = 0; j < coroutines; ++j)
            world.start_loose(visit(world, *locks, all));
        world.start_loose(destroy(locks, all, other));
        world.wait();
        world.stop(other);
    }
    EXPECT_TRUE(world.all_free({"door"}));
}

asio::awaitable<void>
for_ever(threaded_world& world, std::string name, std::atomic<int>& holds, int& guarded) {
    lock_client locks = world.client_with_ttl(1s);
    for (;;) {
        lease first = co_await locks.async_acquire(name);
        ++guarded;
        co_await first.async_release();
        lease second = co_await locks.async_acquire(name);
        ++guarded;
        ++holds;
    }
}

asio::awaitable<void> until(const std::atomic<int>& holds, int enough, std::promise<void>& seen) {
    while (holds < enough)
        co_await hop();
    seen.set_value();
}

asio::awaitable<void> hold(std::string name, lock_client& locks) {
    const lease held = co_await locks.async_acquire(std::move(name));
    EXPECT_TRUE(held.held());
}

TEST_P(LockThreadsEnd, TheThreadsMayEndWhileCoroutinesHoldAndWait) {
    for (int i = 0; i < 8; ++i) {
        const std::string name = "door " + std::to_string(i);
        std::atomic<int> holds = 0;
        int guarded = 0;
        std::promise<void> seen;
        for (int j = 0; j < 4; ++j)
            world.start(for_ever(world, name, holds, guarded));
        world.start_loose(until(holds, i * 3, seen));
        seen.get_future().wait();
        world.end_threads();
        world.begin_threads();
        EXPECT_GE(guarded, holds);
    }
    lock_client locks = world.client();
    world.start(hold("door 0", locks));  // after a TTL at the latest
    world.wait();
    world.stop(locks);
}

}  // namespace
}  // namespace mortise::test::threads_end_test
