// SPDX-License-Identifier: BSL-1.0
// Reentrancy, lingering and grants that end by themselves.
#include "client_world.hpp"

#include <chrono>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

lease acquire_with(client_world& world, lock_client& locks, lock_options options) {
    acquire_outcome outcome;
    locks.async_acquire("door", options, client_world::record(outcome));
    EXPECT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_FALSE(outcome.code) << outcome.code.message();
    return std::move(outcome.held);
}

error_code refused_with(client_world& world, lock_client& locks, lock_options options) {
    acquire_outcome outcome;
    locks.async_acquire("door", options, client_world::record(outcome));
    EXPECT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_FALSE(outcome.held);
    return outcome.code;
}

TEST(Reentrancy, AnOwnerThatHoldsTheLockPassesTheQueueBy) {
    client_world world;
    lock_client alice = world.client();
    lock_options mine;
    mine.owner = owner_id::draw();
    lease first = acquire_with(world, alice, mine);
    acquire_outcome waiting;
    alice.async_acquire("door", lock_options(), client_world::record(waiting));
    world.pass(1ms);
    lease second = acquire_with(world, alice, mine);
    EXPECT_EQ(second.token(), first.token());
    EXPECT_FALSE(waiting.done);
    first = lease();
    world.pass(1ms);
    EXPECT_FALSE(waiting.done) << "it is held until the last of the owner's leases is gone";
    EXPECT_TRUE(second.held());
    lease third = acquire_with(world, alice, mine);
    second = lease();
    third = lease();
    world.pass(1ms);
    EXPECT_TRUE(waiting.done);
    EXPECT_GT(waiting.held.token().value, 0u);
    world.stop(alice);
}

TEST(Reentrancy, AnotherOwnerWaits) {
    client_world world;
    lock_client alice = world.client();
    lock_options mine;
    mine.owner = owner_id::draw();
    const lease first = acquire_with(world, alice, mine);
    lock_options other;
    other.owner = owner_id::draw();
    other.wait_max = 10ms;
    EXPECT_EQ(refused_with(world, alice, other), errc::busy);
    world.stop(alice);
}

TEST(Reentrancy, AReaderIsNotMadeAWriter) {
    client_world world;
    lock_client alice = world.client();
    lock_options mine;
    mine.owner = owner_id::draw();
    mine.mode = lock_mode::shared();
    const lease first = acquire_with(world, alice, mine);
    const lease again = acquire_with(world, alice, mine);
    EXPECT_EQ(again.token(), first.token());
    mine.mode = lock_mode::exclusive();
    EXPECT_EQ(refused_with(world, alice, mine), errc::upgrade_refused);
    world.stop(alice);
}

TEST(Reentrancy, AWriterMayReadToo) {
    client_world world;
    lock_client alice = world.client();
    lock_options mine;
    mine.owner = owner_id::draw();
    const lease first = acquire_with(world, alice, mine);
    mine.mode = lock_mode::shared();
    const lease reads = acquire_with(world, alice, mine);
    EXPECT_EQ(reads.token(), first.token());
    world.stop(alice);
}

TEST(Reentrancy, FailsWhileTheLeaseIsNotSurelyHeld) {
    client_world world;
    lock_client alice = world.client();
    lock_options mine;
    mine.owner = owner_id::draw();
    const lease first = acquire_with(world, alice, mine);
    world.server.set_unavailable(true);
    ASSERT_TRUE(world.run_until([&] { return !first.held(); }));
    EXPECT_EQ(refused_with(world, alice, mine), errc::lease_expired);
    world.server.set_unavailable(false);
    world.stop(alice);
}

TEST(Reentrancy, ALossTakesAllLeasesOfTheOwner) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lock_options mine;
    mine.owner = owner_id::draw();
    const lease first = acquire_with(world, alice, mine);
    const lease second = acquire_with(world, alice, mine);
    bool broken = false;
    bob.async_break("door", first.token(), "a test", [&](error_code code, bool done) {
        EXPECT_FALSE(code) << code.message();
        broken = done;
    });
    EXPECT_TRUE(world.run_until([&] { return broken && first.state() == lease_state::lost; }));
    EXPECT_EQ(second.state(), lease_state::lost);
    EXPECT_EQ(alice.stats().lost, 2u);
    EXPECT_EQ(alice.stats().leases, 0u);
    world.stop(alice);
    world.stop(bob);
}

TEST(Linger, KeepsTheGrantForTheNextAcquire) {
    client_world world;
    lock_client alice = world.client();
    lock_options keep;
    keep.linger = 100ms;
    lease held = acquire_with(world, alice, keep);
    const auto token = held.token();
    held = lease();
    world.pass(50ms);
    EXPECT_EQ(world.server.entries(), 1u);
    held = acquire_with(world, alice, keep);
    EXPECT_EQ(held.token().value, token.value + 1);
    EXPECT_EQ(alice.stats().requests, 1u);
    held = lease();
    world.pass(90ms);
    EXPECT_EQ(world.server.entries(), 1u) << "counted from the last release";
    world.pass(20ms);
    EXPECT_EQ(world.server.entries(), 0u);
    EXPECT_EQ(alice.stats().granted, 2u);
    EXPECT_EQ(alice.stats().released, 2u) << "leases, and not what lingered";
    world.stop(alice);
}

TEST(Linger, EndsWhenAnotherClientWaits) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lock_options keep;
    keep.linger = 10s;
    lease held = acquire_with(world, alice, keep);
    held = lease();
    const auto before = world.time->now();
    const lease other = acquire_with(world, bob, lock_options());
    EXPECT_TRUE(other.held());
    EXPECT_LT(world.time->now() - before, 10ms);
    world.stop(alice);
    world.stop(bob);
}

TEST(Linger, EndsByATryOfAnotherClient) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lock_options keep;
    keep.linger = 10s;
    lease held = acquire_with(world, alice, keep);
    held = lease();
    lock_options now;
    now.wait_max = 0ms;
    EXPECT_EQ(refused_with(world, bob, now), errc::busy);
    world.pass(1ms);
    const lease other = acquire_with(world, bob, now);
    EXPECT_TRUE(other.held());
    world.stop(alice);
    world.stop(bob);
}

TEST(Linger, DoesNotStandInTheWayOfAnotherModeHere) {
    client_world world;
    lock_client alice = world.client();
    lock_options keep;
    keep.linger = 10s;
    keep.mode = lock_mode::shared();
    lease held = acquire_with(world, alice, keep);
    held = lease();
    lock_options now;
    now.wait_max = 0ms;
    const lease writer = acquire_with(world, alice, now);
    EXPECT_TRUE(writer.held());
    world.stop(alice);
}

TEST(HoldMax, EndsTheLeaseForGoodAlthoughTheSessionLives) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lock_options brief;
    brief.hold_max = 500ms;
    const auto before = world.time->now();
    lease held = acquire_with(world, alice, brief);
    EXPECT_LE(held.valid_until(), before + 500ms);
    EXPECT_GT(held.valid_until(), before + 400ms);
    const auto until = held.valid_until();
    error_code outcome;
    clock::time_point told_at;
    held.async_wait_lost([&](error_code why) {
        outcome = why;
        told_at = world.time->now();
    });
    const lease other = acquire_with(world, bob, lock_options());
    EXPECT_TRUE(other.held());
    EXPECT_EQ(outcome, errc::lease_expired);
    EXPECT_LT(told_at, until) << "told before it is true";
    EXPECT_EQ(alice.stats().lost, 1u);
    EXPECT_EQ(alice.stats().released, 0u) << "its grant went back, and no lease";
    EXPECT_EQ(held.state(), lease_state::lost);
    EXPECT_EQ(held.check(), errc::lease_expired);
    EXPECT_LE(world.time->now(), before + 510ms) << "no longer than it was allowed to";
    EXPECT_GT(other.token().value, held.token().value);
    world.stop(alice);
    world.stop(bob);
}

TEST(HoldMax, CountsFromTheGrantAlsoAfterALongWait) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease first = acquire_with(world, bob, lock_options());
    lock_options brief;
    brief.hold_max = 500ms;
    acquire_outcome outcome;
    alice.async_acquire("door", brief, client_world::record(outcome));
    world.pass(2'900ms);
    const auto granted = world.time->now();
    first = lease();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_FALSE(outcome.code) << outcome.code.message();
    EXPECT_TRUE(outcome.held.held());
    EXPECT_LE(outcome.held.valid_until(), granted + 495ms);
    // 1 % is left to a store whose clock runs faster.
    EXPECT_GT(outcome.held.valid_until(), granted + 400ms);
    world.stop(alice);
    world.stop(bob);
}

TEST(HoldMax, IsNotPassedOnInsideTheProcess) {
    client_world world;
    lock_client alice = world.client();
    lock_options brief;
    brief.hold_max = 500ms;
    lease held = acquire_with(world, alice, brief);
    acquire_outcome next;
    alice.async_acquire("door", brief, client_world::record(next));
    world.pass(100ms);
    EXPECT_FALSE(next.done);
    held = lease();
    EXPECT_TRUE(world.run_until([&] { return next.done; }));
    EXPECT_TRUE(next.held.held());
    EXPECT_EQ(alice.stats().grants, 2u);
    world.stop(alice);
}

}  // namespace
}  // namespace mortise::test
