// SPDX-License-Identifier: BSL-1.0
// A line between clients and store that falls silent: nothing arrives, and nobody says so.
#include "conformance/client_fixture.hpp"

#include <boost/asio/as_tuple.hpp>

#include <chrono>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// An acquire that goes on by itself.
struct silent_wait {
    bool done = false;
    error_code code;
    lease held;
    clock::time_point at;
};

void begin_wait(store_harness& harness, lock_client& locks, silent_wait& into) {
    locks.async_acquire("door", lock_options(), [&](error_code code, lease held) {
        into.done = true;
        into.code = code;
        into.held = std::move(held);
        into.at = harness.time()->now();
    });
}

/// Lets both clients use the lock once more, with higher tokens, and stops them when the sessions
/// that the silence has ended are reaped.
asio::awaitable<void>
end_in_peace(store_harness& harness, lock_client& one, lock_client& other, std::uint64_t newest) {
    for (lock_client* const each : {&one, &other}) {
        lease again = co_await each->async_acquire("door", {.wait_max = 10s});
        EXPECT_GT(again.token().value, newest);
        newest = again.token().value;
        co_await again.async_release();
    }
    co_await pause(harness, harness.lifetime());
    co_await one.async_stop();
    co_await other.async_stop();
}

TEST_P(LockConformanceSilence, TheHolderIsToldInTimeAndTheWaiterIsServedAfterwards) {
    h().silence(false);
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        const auto token = held.token().value;
        silent_wait next;
        begin_wait(harness, bob, next);
        co_await queued(bob, "door", 1, harness);

        const machine_delay delay;
        const auto fell_silent = harness.time()->now();
        harness.silence(true);
        auto [code] = co_await held.async_wait_lost(asio::as_tuple(asio::deferred));
        EXPECT_EQ(code, errc::lease_expired);
        const auto believed = held.valid_until();
        EXPECT_LT(harness.time()->now(), believed + harness.lateness(delay))
            << "the holder is told before the loss can be true";
        EXPECT_LE(believed, fell_silent + harness.ttl());
        co_await until(harness, [&] { return !held.held(); });
        const bool given_up = harness.gives_sessions_up() && held.state() == lease_state::lost;
        EXPECT_TRUE(given_up || held.state() == lease_state::unsure) << "nobody can know";
        co_await pause(harness, 2 * harness.ttl());
        EXPECT_FALSE(next.done) << next.code.message();

        const machine_delay delay_after;
        const auto spoke = harness.time()->now();
        harness.silence(false);
        co_await until(harness, [&] { return next.done && held.state() == lease_state::lost; });
        EXPECT_FALSE(next.code) << next.code.message();
        EXPECT_LE(believed, next.at) << "two held it";
        EXPECT_LE(next.at - spoke, harness.ttl() + 1s + harness.lateness(delay_after));
        EXPECT_TRUE(next.held.held());
        EXPECT_GT(next.held.token().value, token);
        const auto newest = next.held.token().value;
        co_await next.held.async_release();
        co_await end_in_peace(harness, alice, bob, newest);
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformanceSilence, AShortOneLosesNothing) {
    h().silence(false);
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        const auto token = held.token();
        silent_wait next;
        begin_wait(harness, bob, next);
        co_await queued(bob, "door", 1, harness);
        harness.silence(true);
        co_await pause(harness, harness.ttl() / 4);
        harness.silence(false);
        co_await pause(harness, harness.ttl() * 3 / 2);
        co_await until(harness, [&] { return held.held(); });
        EXPECT_EQ(held.token(), token);
        EXPECT_FALSE(next.done) << "two hold it";
        co_await held.async_release();
        co_await until(harness, [&] { return next.done; });
        EXPECT_FALSE(next.code) << next.code.message();
        EXPECT_GT(next.held.token().value, token.value);
        const auto newest = next.held.token().value;
        co_await next.held.async_release();
        co_await end_in_peace(harness, alice, bob, newest);
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformanceSilence, AReleaseIntoItIsMadeUpForAndServesTheWaiter) {
    h().silence(false);
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        const auto token = held.token().value;
        silent_wait next;
        begin_wait(harness, bob, next);
        co_await queued(bob, "door", 1, harness);
        harness.silence(true);
        const machine_delay delay;
        const auto begun = harness.time()->now();
        bool released = false;
        held.async_release([&](error_code code) {
            released = true;
            // On a machine that is late the session ends before the silence is noticed.
            const bool late = harness.time()->now() >= begun + harness.ttl();
            EXPECT_TRUE(
                !code || code == errc::outcome_unknown || (late && code == errc::lease_lost)
            ) << code.message();
        });
        co_await pause(harness, harness.ttl() / 4);
        EXPECT_FALSE(next.done);
        harness.silence(false);
        co_await until(harness, [&] { return released && next.done; });
        EXPECT_FALSE(next.code) << next.code.message();
        EXPECT_LT(next.at - begun, harness.ttl() + harness.lateness(delay))
            << "it was noticed, not waited out";
        EXPECT_GT(next.held.token().value, token);
        const auto newest = next.held.token().value;
        co_await next.held.async_release();
        co_await end_in_peace(harness, alice, bob, newest);
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformanceSilence, ARequestInItEndsInTimeAndIsNotCalledBusy) {
    h().silence(false);
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease window = co_await alice.async_acquire("window");
        harness.silence(true);
        const machine_delay delay;
        const auto begun = harness.time()->now();
        const std::chrono::milliseconds wait_max = harness.ttl() / 2;
        lock_options hasty;
        hasty.wait_max = wait_max;
        auto [code, none] =
            co_await alice.async_acquire("door", std::move(hasty), asio::as_tuple(asio::deferred));
        const auto ended = harness.time()->now();
        EXPECT_TRUE(code == condition::retryable) << code.message();
        EXPECT_NE(code, errc::busy) << "nobody knows whether somebody has the lock";
        EXPECT_GE(ended - begun, wait_max);
        EXPECT_LE(
            ended - begun,
            wait_max + client_config().release_budget + 100ms + harness.lateness(delay)
        );
        harness.silence(false);
        lease door = co_await bob.async_acquire("door", {.wait_max = 10s});
        const auto newest = door.token().value;
        co_await door.async_release();
        window = lease();
        co_await end_in_peace(harness, alice, bob, newest);
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

}  // namespace
}  // namespace mortise::test
