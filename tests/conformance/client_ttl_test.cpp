// SPDX-License-Identifier: BSL-1.0
// Clients with different TTLs at one store, also the longest one that it has: each lives for its
// own, and nobody waits longer for another one than that may believe in its lease.
#include "conformance/client_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

lock_client client_with(store_harness& harness, std::chrono::milliseconds ttl) {
    client_config config = config_of(harness);
    config.ttl = ttl;
    return lock_client(harness.executor(), harness.make_store(), config);
}

std::chrono::milliseconds longest_at(store_harness& harness) {
    return harness.make_store()->traits().ttl_max;
}

asio::awaitable<void> use_door(lock_client& locks) {
    lease held = co_await locks.async_acquire("door", {.wait_max = 10s});
    EXPECT_TRUE(held.held());
    co_await held.async_release();
}

TEST_P(LockConformance, TheLongestTtlAndAShortOneGoTogether) {
    h().expect_ttl(longest_at(h()));
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client slow = client_with(harness, longest_at(harness));
        lock_client brief = make_client(harness);
        lease of_slow = co_await slow.async_acquire("door");
        lease of_brief = co_await brief.async_acquire("window");
        EXPECT_GT(of_slow.valid_until() - harness.time()->now(), longest_at(harness) / 2);
        EXPECT_LT(of_brief.valid_until() - harness.time()->now(), harness.ttl());
        co_await pause(harness, harness.ttl() * 3 / 2);
        co_await until(harness, [&] { return of_brief.held(); });
        EXPECT_TRUE(of_slow.held());
        co_await of_slow.async_release();
        co_await use_door(brief);
        co_await use_door(slow);
        co_await of_brief.async_release();
        co_await slow.async_stop();
        co_await brief.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, ALongerTtlThanTheLongestIsRefused) {
    try {
        client_with(h(), longest_at(h()) + 1ms);
        ADD_FAILURE() << "not refused";
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), errc::ttl_too_long);
    }
}

/// Sends heartbeats, when the store asks for them, until the request is granted.
asio::awaitable<void> beat_until_granted(store_harness& harness, peer& who, clock::duration limit) {
    bool granted = false;
    const auto end = harness.time()->now() + limit;
    while (!granted && harness.time()->now() < end) {
        const auto beat = co_await who.port().beat(0);
        if (!beat) {
            ADD_FAILURE() << beat.error().message();
            co_return;
        }
        granted = co_await who.hears(store_event::kind::granted, who.last_id(), 5ms);
        const auto next = beat->next_deadline.value_or(limit);
        if (!granted)
            co_await pause(harness, std::clamp<clock::duration>(next, 1ms, limit / 8));
    }
    EXPECT_TRUE(granted);
}

/// One holds the lock and falls silent; the other one waits for it.
asio::awaitable<void>
outlive(store_harness& harness, peer& silent, peer& other, clock::time_point& proved) {
    co_await other.open();
    proved = (co_await silent.open()).sent;
    co_await silent.hold("door");
    co_await other.ask("door");
    co_await beat_until_granted(harness, other, 2 * longest_at(harness));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortLongTtl);  // not for every store

TEST_P(StorePortLongTtl, OneThatDiesWithTheLongestTtlIsReplacedAfterIt) {
    const auto longest = longest_at(h());
    h().expect_ttl(longest);
    peer dies(h(), longest);
    peer waits(h(), longest);
    clock::time_point proved;
    bool done = false;
    asio::co_spawn(
        h().executor(),
        outlive(h(), dies, waits, proved),
        [&](std::exception_ptr thrown) {
            EXPECT_FALSE(thrown);
            done = true;
        }
    );
    ASSERT_TRUE(h().run_until([&] { return done; }, 3 * longest));
    EXPECT_GE(h().time()->now() - proved, longest);
    EXPECT_LE(h().time()->now() - proved, longest + 1s);
}

/// Acquires as a newcomer, and gives the moment of the grant.
asio::awaitable<clock::time_point> newcomers_grant(store_harness& harness, lock_client& newcomer) {
    lease held = co_await newcomer.async_acquire("door", {.wait_max = 10min});
    const auto at = harness.time()->now();
    EXPECT_TRUE(held.held());
    co_await held.async_release();
    co_await newcomer.async_stop();
    co_return at;
}

TEST_P(LockConformanceRestart, WithoutMemoryANewcomerWaitsForTheTtlOfAnother) {
    h().expect_ttl(4 * h().ttl());
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const auto longest = 4 * harness.ttl();
        lock_client slow = client_with(harness, longest);
        lease held = co_await slow.async_acquire("door");
        const auto believed = held.valid_until();
        const machine_delay delay;
        const auto restarted = harness.time()->now();
        harness.restart(false);
        lock_client newcomer = make_client(harness);
        const auto at = co_await newcomers_grant(harness, newcomer);
        EXPECT_LE(believed, at) << "two held it";
        EXPECT_FALSE(held.held());
        EXPECT_GE(at - restarted, longest);
        EXPECT_LE(at - restarted, longest + 1s + harness.lateness(delay));
        co_await slow.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

/// One with a long TTL comes and goes, and the store starts again when that is over.
/// @return after which time a newcomer with a short TTL has a lock.
asio::awaitable<clock::duration>
wait_after_one_long_gone(store_harness& harness, bool with_memory) {
    const auto ttl_of_gone = 3 * harness.ttl();
    lock_client stays = make_client(harness);
    lease window = co_await stays.async_acquire("window");
    {
        lock_client slow = client_with(harness, ttl_of_gone);
        co_await use_door(slow);
        co_await slow.async_stop();
    }
    co_await pause(harness, ttl_of_gone + harness.ttl());
    EXPECT_TRUE(window.held());
    const auto restarted = harness.time()->now();
    harness.restart(with_memory);
    lock_client newcomer = make_client(harness);
    const auto at = co_await newcomers_grant(harness, newcomer);
    co_await stays.async_stop();
    co_return at - restarted;
}

TEST_P(LockConformanceRestart, WithMemoryNobodyWaitsForTheTtlOfOneLongGone) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const machine_delay delay;
        const auto waited = co_await wait_after_one_long_gone(harness, true);
        EXPECT_LE(waited, harness.ttl() + 1s + harness.lateness(delay));
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformanceRestart, WithoutMemoryNobodyWaitsForTheTtlOfOneLongGone) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const machine_delay delay;
        const auto waited = co_await wait_after_one_long_gone(harness, false);
        EXPECT_GE(waited, harness.ttl()) << "somebody holds a lock with that TTL";
        EXPECT_LE(waited, harness.ttl() + 1s + harness.lateness(delay));
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

}  // namespace
}  // namespace mortise::test
