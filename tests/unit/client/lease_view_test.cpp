// SPDX-License-Identifier: BSL-1.0
#include "mortise/lease_view.hpp"
#include "unit/client/client_world.hpp"

#include <chrono>

namespace mortise::test {
namespace {

TEST(LeaseView, OfNothingIsOfALeaseThatWasReleased) {
    const lease_view none;
    EXPECT_EQ(none.check(), errc::lease_released);
    EXPECT_EQ(none.name(), "");
    EXPECT_FALSE(none.token());
    EXPECT_EQ(none.slot(), 0u);
    EXPECT_EQ(lease().view().check(), errc::lease_released);
}

TEST(LeaseView, SeesWhatTheLeaseIsAndOutlivesIt) {
    client_world world;
    lock_client alice = world.client();
    lease held = world.acquire(alice, "door");
    const lease_view view = held.view();
    const lease_view copy = view;
    EXPECT_FALSE(view.check());
    EXPECT_EQ(view.name(), "door");
    EXPECT_EQ(view.token(), held.token());
    lease moved = std::move(held);
    EXPECT_FALSE(copy.check());
    moved = lease();
    world.pass(std::chrono::milliseconds(1));
    EXPECT_EQ(view.check(), errc::lease_released);
    EXPECT_EQ(copy.check(), errc::lease_released);
    EXPECT_EQ(view.name(), "door");
}

TEST(LeaseView, SeesALossAtOnce) {
    client_world world;
    lock_client alice = world.client();
    const lease held = world.acquire(alice, "door");
    const lease_view view = held.view();
    world.server.set_unavailable(true);
    world.pass(std::chrono::seconds(4));
    EXPECT_TRUE(view.check() == condition::not_held) << view.check().message();
    EXPECT_EQ(view.check(), held.check());
}

TEST(LeaseView, OfAPermitKnowsWhichOne) {
    client_world world;
    lock_client alice = world.client();
    acquire_outcome outcome;
    lock_options options;
    options.mode = lock_mode::permits(2);
    alice.async_acquire("pool", options, client_world::record(outcome));
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_EQ(outcome.held.view().slot(), outcome.held.slot());
    EXPECT_EQ(outcome.held.view().slot(), 1u);
}

// The session lives, and its heartbeats go on.
TEST(Lease, ThatWasBrokenIsNotValidAnyLonger) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    const lease held = world.acquire(alice, "door");
    EXPECT_GT(held.valid_until(), world.time->now());
    bool done = false;
    bob.async_break("door", held.token(), "test", [&](error_code, bool) { done = true; });
    EXPECT_TRUE(world.run_until([&] { return done && held.state() == lease_state::lost; }));
    world.pass(std::chrono::seconds(4));
    EXPECT_EQ(alice.stats().sessions, 1u);
    EXPECT_EQ(held.valid_until(), clock::time_point::min());
    EXPECT_EQ(held.verified_ago(), clock::duration::max());
}

TEST(Lease, OfALostSessionHasNoTimeOfTheNextOne) {
    client_world world;
    lock_client alice = world.client();
    const lease held = world.acquire(alice, "door");
    world.server.set_unavailable(true);
    world.pass(std::chrono::seconds(7));
    world.server.set_unavailable(false);
    const lease other = world.acquire(alice, "window");
    EXPECT_EQ(alice.stats().sessions, 2u);
    EXPECT_EQ(held.valid_until(), clock::time_point::min());
    EXPECT_EQ(held.verified_ago(), clock::duration::max());
    EXPECT_GT(other.valid_until(), world.time->now());
}

}  // namespace
}  // namespace mortise::test
