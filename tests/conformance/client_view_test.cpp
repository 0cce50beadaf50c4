// SPDX-License-Identifier: BSL-1.0
// Views of a lock that a client gets, and short ways to a lock, for every store.
#include "client_fixture.hpp"
#include "mortise/lock_client.hpp"
#include "port_conformance.hpp"

#include <boost/asio/as_tuple.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

// Checks that neither the lock nor the request of a session without heartbeats is shown once the
// session is dead.
asio::awaitable<void> show_no_dead(store_harness& harness, bool sessions) {
    peer dead(harness);
    co_await dead.open();
    co_await dead.hold("door");
    if (sessions)
        co_await dead.ask("gate");
    peer looking(harness);
    const auto before = co_await looking.port().inspect("door", 10);
    EXPECT_TRUE(before && before->has_value()) << "it holds the lock as yet";
    co_await pause(harness, harness.ttl() * 11 / 10);
    const auto one = co_await looking.port().inspect("door", 10);
    EXPECT_TRUE(one && !one->has_value()) << "nobody holds it, nobody waits";
    const auto all = co_await looking.port().list("", 10, 10);
    EXPECT_TRUE(all.has_value());
    EXPECT_TRUE(all && all->empty());
}

TEST_P(StorePort, ALookShowsNoneOfTheDeadBeforeAnyHeartbeat) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const bool sessions = harness.make_store()->traits().sessions;
        co_await show_no_dead(harness, sessions);
    }(h()));
}

TEST_P(StorePortWaiters, ALookShowsWhoLivesBesideTheDead) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer dead(harness);
        peer bob(harness);
        const auto begun = harness.time()->now();
        co_await dead.open();
        co_await dead.ask("roof");
        co_await pause(harness, harness.ttl() / 2);
        const auto opened = harness.time()->now();
        co_await bob.open();
        co_await bob.hold("door");
        co_await dead.ask("door");
        co_await bob.ask("door");
        const auto both = co_await bob.port().inspect("door", 10);
        if (harness.time()->now() >= begun + harness.ttl())
            co_return;  // The machine was late: the first session may be dead already.
        EXPECT_EQ((*both)->waiter_count, 2u);
        co_await pause(harness, harness.ttl() * 6 / 10);
        peer looking(harness);
        const auto seen = co_await looking.port().inspect("door", 10);
        const auto none = co_await looking.port().inspect("door", 0);
        if (harness.time()->now() >= opened + harness.ttl())
            co_return;  // The machine was late: by now the other session is dead, too.
        EXPECT_TRUE(seen && seen->has_value());
        if (!seen || !*seen)
            co_return;
        EXPECT_EQ((*seen)->holders.size(), 1u);
        EXPECT_EQ((*seen)->waiter_count, 1u);
        EXPECT_EQ((*seen)->waiters.size(), 1u);
        EXPECT_EQ((*seen)->waiters.at(0).session, bob.id());
        EXPECT_EQ((*none)->waiter_count, 1u);
        EXPECT_TRUE((*none)->waiters.empty());
        EXPECT_FALSE((co_await looking.port().inspect("roof", 10))->has_value());
    }(h()));
}

TEST_P(StorePortHoldMax, ALookShowsNoGrantThatHasEnded) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        co_await alice.hold_for("door", {lock_mode::exclusive(), 50ms, true});
        co_await pause(harness, 60ms);
        peer looking(harness);
        EXPECT_FALSE((co_await looking.port().inspect("door", 10))->has_value());
        EXPECT_TRUE((co_await looking.port().list("", 10, 10))->empty());
    }(h()));
}

TEST_P(LockConformance, AClientTellsWhetherALockIsHeldAndForHowLong) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        EXPECT_FALSE(co_await bob.async_is_locked("door"));
        EXPECT_FALSE((co_await bob.async_time_left("door")).has_value());
        lease held = co_await alice.async_acquire("door");
        EXPECT_TRUE(co_await bob.async_is_locked("door"));
        const auto left = co_await bob.async_time_left("door");
        EXPECT_TRUE(left.has_value());
        EXPECT_GT(left.value_or(clock::duration::zero()), harness.ttl() / 4);
        EXPECT_LE(left.value_or(clock::duration::max()), harness.ttl());
        co_await held.async_release();
        EXPECT_FALSE(co_await bob.async_is_locked("door"));
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformanceHoldMax, TheTimeOfALockIsNoLongerThanItsHoldMax) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_options brief;
        brief.hold_max = harness.ttl() / 3;
        const lease held = co_await alice.async_acquire("door", brief);
        const auto left = co_await alice.async_time_left("door");
        EXPECT_LE(left.value_or(clock::duration::max()), brief.hold_max);
        co_await alice.async_stop();
    }(h()));
}

TEST_P(LockConformanceBreaks, WhoeverHoldsALockLosesItByOrder) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        EXPECT_FALSE(co_await bob.async_break_holders("door", "nobody has it"));
        lock_options pool;
        pool.mode = lock_mode::permits(2);
        lease first = co_await alice.async_acquire("door", pool);
        lease second = co_await bob.async_acquire("door", pool);
        EXPECT_TRUE(co_await bob.async_break_holders("door", "stuck"));
        co_await until(harness, [&] {
            return first.state() == lease_state::lost && second.state() == lease_state::lost;
        });
        EXPECT_FALSE(co_await bob.async_is_locked("door"));
        const auto records = co_await bob.async_breaks("door", 10);
        EXPECT_EQ(records.size(), 2u);
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

struct changed_lock {
    bool done = false;
    error_code code;
    std::optional<lock_view> view;
};

void await_change(lock_client& locks, std::optional<lock_view> seen, changed_lock& into) {
    into = changed_lock();
    locks.async_wait_changed(
        "door",
        std::move(seen),
        [&into](error_code code, std::optional<lock_view> view) {
            into.done = true;
            into.code = code;
            into.view = std::move(view);
        }
    );
}

TEST_P(LockConformanceRecords, WhoWaitsForAChangeOfOneLockIsShownIt) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        changed_lock change;
        await_change(bob, std::nullopt, change);
        {
            lease other = co_await alice.async_acquire("window");
            co_await other.async_release();
        }
        co_await pause(harness, 20ms);
        EXPECT_FALSE(change.done) << "another lock has changed";
        lease held = co_await alice.async_acquire("door");
        co_await until(harness, [&] { return change.done; });
        EXPECT_FALSE(change.code) << change.code.message();
        EXPECT_TRUE(change.view.has_value());
        if (!change.view)
            co_return;
        EXPECT_EQ(change.view->holders.at(0).token, held.token());
        auto seen = change.view;
        await_change(bob, seen, change);
        co_await pause(harness, 20ms);
        EXPECT_FALSE(change.done) << "it is as it was seen";
        co_await held.async_release();
        co_await until(harness, [&] { return change.done; });
        EXPECT_FALSE(change.code) << change.code.message();
        EXPECT_FALSE(change.view.has_value());
        await_change(bob, std::move(seen), change);
        co_await until(harness, [&] { return change.done; });
        EXPECT_FALSE(change.view.has_value()) << "what differs already is shown at once";
        await_change(bob, std::nullopt, change);
        co_await pause(harness, 5ms);
        co_await bob.async_stop();
        co_await until(harness, [&] { return change.done; });
        EXPECT_EQ(change.code, errc::client_stopped);
        // Changes a lock: until then a store may note that somebody watches.
        held = co_await alice.async_acquire("door");
        co_await alice.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockConformanceNoRecords);  // not for every store

TEST_P(LockConformanceNoRecords, AChangeThatCannotBeToldOfIsRefused) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        changed_lock change;
        await_change(alice, std::nullopt, change);
        co_await until(harness, [&] { return change.done; });
        EXPECT_FALSE(change.code) << "a look is enough to see that it differs";
        await_change(alice, change.view, change);
        co_await until(harness, [&] { return change.done; });
        EXPECT_EQ(change.code, errc::unsupported);
        co_await held.async_release();
        co_await alice.async_stop();
    }(h()));
}

TEST_P(LockConformance, ASetLetsGoOfOneLockByItsName) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        std::vector<std::string> names{"door", "gate", "roof"};
        lease_set all = co_await alice.async_acquire_all(std::move(names));
        co_await all.async_release_one("gate");
        EXPECT_EQ(all.size(), 2u);
        EXPECT_TRUE(all.held());
        EXPECT_THROW(all.at("gate"), std::out_of_range);
        EXPECT_THROW(static_cast<void>(all.take("gate")), std::out_of_range);
        EXPECT_TRUE((co_await bob.async_try_acquire("gate")).has_value());
        EXPECT_FALSE((co_await bob.async_try_acquire("door")).has_value());
        lease door = all.take("door");
        EXPECT_TRUE(door.held());
        co_await all.async_release();
        EXPECT_TRUE(door.held()) << "what was taken out is no part of the set";
        co_await door.async_release();
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

}  // namespace
}  // namespace mortise::test
