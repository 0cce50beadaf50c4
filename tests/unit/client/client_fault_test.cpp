// SPDX-License-Identifier: BSL-1.0
#include "unit/client/client_world.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/strand.hpp>

#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

TEST(ClientFaults, ALostPushCostsAtMostOneHeartbeat) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease held = world.acquire(alice, "door");
    acquire_outcome outcome;
    bob.async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(10ms);
    world.server.lose_pushes(1);
    const auto released = world.time->now();
    held = lease();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_TRUE(outcome.held.held());
    EXPECT_LE(world.time->now() - released, 1'001ms);  // a third of the TTL
    EXPECT_EQ(bob.stats().missed_grants, 1u);
}

TEST(ClientFaults, ARestartWithMemoryKeepsLeasesAfterTheyAreProved) {
    client_world world;
    lock_client alice = world.client();
    lease held = world.acquire(alice, "door");
    const auto looks = alice.stats().looks;
    world.server.restart(true);
    world.pass(2s);
    EXPECT_EQ(held.state(), lease_state::held);
    EXPECT_GT(alice.stats().looks, looks);
}

TEST(ClientFaults, ARestartWithoutMemoryLosesLeasesAndGrantsNothingForATtl) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease held = world.acquire(alice, "door");
    const auto before = held.token();
    const auto restarted = world.time->now();
    world.server.restart(false);
    acquire_outcome outcome;
    bob.async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(1s);
    EXPECT_EQ(held.state(), lease_state::lost);
    EXPECT_FALSE(outcome.done);  // the old holder could still believe in its lease
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_GE(world.time->now() - restarted, 3s);
    EXPECT_LE(world.time->now() - restarted, 5s);
    EXPECT_GT(outcome.held.token().value, before.value);
}

TEST(ClientFaults, AnUnreachableStoreFailsAnAcquireWithoutLeavingAnything) {
    client_world world;
    lock_client alice = world.client();
    world.server.set_unavailable(true);
    acquire_outcome outcome;
    alice.async_acquire("door", lock_options(), client_world::record(outcome));
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_EQ(outcome.code, errc::store_unavailable);
    EXPECT_TRUE(outcome.code == condition::retryable);
    world.server.set_unavailable(false);
    lease held = world.acquire(alice, "door");
    EXPECT_TRUE(held.held());
    // In the middle of a session: the undoing outlasts its budget, and goes on.
    world.server.set_unavailable(true);
    acquire_outcome second;
    const auto start = world.time->now();
    alice.async_acquire("window", lock_options(), client_world::record(second));
    ASSERT_TRUE(world.run_until([&] { return second.done; }));
    EXPECT_EQ(second.code, errc::store_unavailable);
    EXPECT_GE(world.time->now() - start, 2s);
    EXPECT_EQ(alice.stats().undone_late, 1u);
    world.server.set_unavailable(false);
    EXPECT_TRUE(world.run_until([&] { return world.server.entries() <= 1; }));
}

TEST(ClientFaults, AReleaseThatIsNotAcknowledgedIsReportedAndGoesOn) {
    client_world world;
    lock_client alice = world.client();
    lease held = world.acquire(alice, "door");
    world.server.set_unavailable(true);
    bool done = false;
    error_code result;
    held.async_release([&](error_code code) {
        done = true;
        result = code;
    });
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.Move): released, as documented
    EXPECT_EQ(held.state(), lease_state::released);
    ASSERT_TRUE(world.run_until([&] { return done; }));
    EXPECT_EQ(result, errc::outcome_unknown);
    EXPECT_EQ(world.server.entries(), 1u);
    world.server.set_unavailable(false);
    world.pass(2s);
    EXPECT_EQ(world.server.entries(), 0u);
    EXPECT_EQ(alice.stats().sessions, 1u);
}

TEST(ClientFaults, WhatCannotBeUndoneForATtlEndsWithItsSession) {
    client_world world;
    lock_client alice = world.client();
    lease held = world.acquire(alice, "door");
    lease other = world.acquire(alice, "window");
    world.server.set_unavailable(true);
    held = lease();
    world.pass(10s);
    EXPECT_EQ(other.state(), lease_state::lost);
    world.server.set_unavailable(false);
    lease again = world.acquire(alice, "door");
    EXPECT_TRUE(again.held());
    EXPECT_EQ(alice.stats().sessions, 2u);
}

TEST(ClientFaults, WhoCannotBeReachedKeepsItsPlace) {
    client_world world;
    std::vector<std::unique_ptr<lock_client>> clients;
    for (int i = 0; i < 3; ++i)
        clients.push_back(std::make_unique<lock_client>(world.client()));
    lease held = world.acquire(*clients[0], "door");
    acquire_outcome first;
    acquire_outcome second;
    clients[1]->async_acquire("door", lock_options(), client_world::record(first));
    world.pass(1ms);
    clients[2]->async_acquire("door", lock_options(), client_world::record(second));
    world.pass(1ms);
    std::vector<lock_view> views;
    clients[0]->async_list("", 10, 10, [&](error_code, std::vector<lock_view> v) { views = v; });
    world.pass(1ms);
    ASSERT_EQ(views.at(0).waiters.size(), 2u);
    const session_id cut_off = views.at(0).waiters.at(0).session;
    world.server.set_unreachable(cut_off, true);
    held = lease();
    world.pass(10ms);
    EXPECT_FALSE(first.done);
    EXPECT_TRUE(second.done);
    world.server.set_unreachable(cut_off, false);
    second.held = lease();
    world.pass(10ms);
    EXPECT_TRUE(first.done);
}

TEST(ClientFaults, AGrantThatComesWhileUnsureIsProvedBeforeItIsDelivered) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease held = world.acquire(alice, "door");
    acquire_outcome outcome;
    bob.async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(10ms);
    // Heartbeats stop being answered, but their effect goes on: the session lives, and is not
    // proved.
    world.server.lose_replies(1'000);
    world.pass(4s);
    world.server.lose_replies(0);
    held = lease();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_FALSE(outcome.code);
    EXPECT_TRUE(outcome.held.held());
}

}  // namespace
}  // namespace mortise::test
