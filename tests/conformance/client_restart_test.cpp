// SPDX-License-Identifier: BSL-1.0
// A store that starts again while a lock is held and somebody waits for it: with its memory nothing
// is lost; without it nothing new is granted while an old lease may still be relied on.
#include "conformance/client_fixture.hpp"

#include <chrono>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// An acquire that is under way in a coroutine of its own.
struct waiter {
    lease held;
    clock::time_point at;
    bool done = false;
};

asio::awaitable<void> acquire_into(store_harness& harness, lock_client& locks, waiter& into) {
    lease held = co_await locks.async_acquire("door", {.wait_max = 30s});
    into.at = harness.time()->now();
    into.held = std::move(held);
    into.done = true;
}

asio::awaitable<void> begin_to_wait(store_harness& harness, lock_client& locks, waiter& into) {
    asio::co_spawn(
        co_await asio::this_coro::executor, acquire_into(harness, locks, into), asio::detached
    );
}

/// Lets both clients acquire and release once more, with higher tokens, and stops them.
asio::awaitable<void> end_well(lock_client& one, lock_client& other, std::uint64_t newest) {
    for (lock_client* const each : {&one, &other}) {
        lease again = co_await each->async_acquire("door", {.wait_max = 30s});
        EXPECT_GT(again.token().value, newest);
        newest = again.token().value;
        co_await again.async_release();
    }
    co_await one.async_stop();
    co_await other.async_stop();
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockConformanceRestart);  // not for every store

TEST_P(LockConformanceRestart, WithMemoryLosesNothing) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        const auto token = held.token();
        waiter next;
        co_await begin_to_wait(harness, bob, next);
        co_await queued(bob, "door", 1, harness);
        harness.restart(true);
        co_await pause(harness, harness.ttl() * 3 / 2);
        co_await until(harness, [&] { return held.held(); });
        EXPECT_EQ(held.token(), token);
        EXPECT_FALSE(next.done) << "two hold it";
        co_await held.async_release();
        co_await until(harness, [&] { return next.done; });
        EXPECT_GT(next.held.token().value, token.value);
        const auto newest = next.held.token().value;
        co_await next.held.async_release();
        co_await end_well(alice, bob, newest);
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformanceRestart, WithoutMemoryGrantsNothingForATtlAndLosesTheLease) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        waiter next;
        co_await begin_to_wait(harness, bob, next);
        co_await queued(bob, "door", 1, harness);
        const auto restarted = harness.time()->now();
        harness.restart(false);
        co_await until(harness, [&] { return next.done; });
        EXPECT_FALSE(held.held()) << "two hold it";
        EXPECT_LE(held.valid_until(), next.at) << "two held it";
        EXPECT_GE(next.at - restarted, harness.ttl());
        co_await until(harness, [&] { return held.state() == lease_state::lost; });
        EXPECT_GT(next.held.token().value, held.token().value);
        const auto newest = next.held.token().value;
        co_await next.held.async_release();
        co_await end_well(alice, bob, newest);
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformanceRestart, ANewcomerAfterOneWithoutMemoryWaitsForATtl) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        const auto restarted = harness.time()->now();
        harness.restart(false);
        waiter next;
        co_await begin_to_wait(harness, bob, next);
        co_await until(harness, [&] { return next.done; });
        EXPECT_FALSE(held.held()) << "two hold it";
        EXPECT_LE(held.valid_until(), next.at) << "two held it";
        EXPECT_GE(next.at - restarted, harness.ttl());
        EXPECT_GT(next.held.token().value, held.token().value);
        const auto newest = next.held.token().value;
        co_await next.held.async_release();
        co_await end_well(alice, bob, newest);
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

}  // namespace
}  // namespace mortise::test
