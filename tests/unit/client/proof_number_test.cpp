// SPDX-License-Identifier: BSL-1.0
// Grants that are kept by another proof than that of the session which asked: a set of servers that
// granted together. The store of these tests has one server; it says that the proof with the number
// 1 keeps what the session with the number 0 asked for.
#include "unit/client/client_world.hpp"
#include "unit/client/edited_store.hpp"

#include <optional>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class ProofNumbers : public ::testing::Test {
protected:
    ProofNumbers() {
        line->number_grant = 1;
        client.emplace(world.client(std::make_unique<edited_store>(world.server.make_store(), line))
        );
    }

    /// Ends the proof that keeps the grants, as a store would that has taken them back.
    void lose_proof() {
        store_event event;
        event.type = store_event::kind::session_lost;
        event.number = 1;
        line->events->on_store_event(event);
    }

    client_world world;
    std::shared_ptr<edited_line> line = std::make_shared<edited_line>();
    std::optional<lock_client> client;
};

TEST_F(ProofNumbers, AGrantWaitsUntilTheProofThatKeepsItIsThere) {
    line->hold_resume = 1;
    acquire_outcome outcome;
    client->async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(1s);
    EXPECT_FALSE(outcome.done) << "the store granted it, by a proof that nobody has yet";
    EXPECT_EQ(world.server.entries(), 1u);
    line->hold_resume.reset();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_TRUE(outcome.held.held()) << outcome.code.message();
}

TEST_F(ProofNumbers, AGrantWhoseProofIsRefusedIsGivenBack) {
    line->refuse_proof = errc::access_denied;
    acquire_outcome outcome;
    client->async_acquire("door", lock_options(), client_world::record(outcome));
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_EQ(outcome.code, errc::access_denied);
    world.pass(1s);
    EXPECT_EQ(world.server.entries(), 0u);
}

TEST_F(ProofNumbers, ALeaseIsAsSureAsTheProofThatKeepsIt) {
    const lease held = world.acquire(*client, "door");
    line->fail_beats = 1;
    const auto since = world.time->now();
    world.pass(3s);
    EXPECT_EQ(held.state(), lease_state::unsure) << "heartbeats of another number prove nothing";
    EXPECT_LE(held.valid_until(), since + 3s);
    line->fail_beats.reset();
    world.pass(1s);
    EXPECT_TRUE(held.held());
    line->fail_beats = 0;
    world.pass(2'900ms);
    EXPECT_TRUE(held.held()) << "and their failure does no harm";
}

TEST_F(ProofNumbers, ALossOfTheProofLosesTheLease) {
    const lease held = world.acquire(*client, "door");
    lose_proof();
    EXPECT_EQ(held.state(), lease_state::lost);
    EXPECT_EQ(held.check(), errc::lease_lost);
}

TEST_F(ProofNumbers, ALossOfTheAskingSessionLeavesTheLease) {
    const lease held = world.acquire(*client, "door");
    store_event event;
    event.type = store_event::kind::session_lost;
    line->events->on_store_event(event);
    EXPECT_TRUE(held.held());
    EXPECT_EQ(client->stats().leases, 1u);
}

TEST_F(ProofNumbers, AReleaseGivesTheGrantBack) {
    lease held = world.acquire(*client, "door");
    bool done = false;
    held.async_release([&](error_code code) {
        EXPECT_FALSE(code) << code.message();
        done = true;
    });
    ASSERT_TRUE(world.run_until([&] { return done; }));
    EXPECT_EQ(world.server.entries(), 0u);
    EXPECT_TRUE(world.acquire(*client, "door").held());
    world.stop(*client);
    EXPECT_EQ(world.server.entries() + world.server.sessions(), 0u);
}

TEST_F(ProofNumbers, APushNamesTheProofToo) {
    lock_client other = world.client();
    lease held = world.acquire(other, "door");
    acquire_outcome outcome;
    client->async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(10ms);
    held = lease();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_TRUE(outcome.held.held());
    lose_proof();
    EXPECT_EQ(outcome.held.state(), lease_state::lost);
}

TEST_F(ProofNumbers, AGrantWhosePushWasLostIsFoundByALook) {
    lock_client other = world.client();
    lease held = world.acquire(other, "door");
    acquire_outcome outcome;
    client->async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(10ms);
    line->hold_events = true;
    held = lease();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_EQ(client->stats().missed_grants, 1u);
    EXPECT_TRUE(outcome.held.held());
    world.pass(5s);
    EXPECT_TRUE(outcome.held.held()) << "looks of both numbers find it";
    EXPECT_EQ(client->stats().orphans, 0u);
    EXPECT_EQ(world.server.entries(), 1u);
}

TEST_F(ProofNumbers, AWaiterThatLosesTheProofOfItsGrantAsksAgain) {
    line->hold_resume = 1;
    acquire_outcome outcome;
    client->async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(100ms);
    ASSERT_FALSE(outcome.done);
    const auto requests = client->stats().requests;
    line->free_grants = true;  // What the proof kept is free again.
    lose_proof();
    line->hold_resume.reset();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_TRUE(outcome.held.held()) << outcome.code.message();
    EXPECT_GT(client->stats().requests, requests);
}

TEST_F(ProofNumbers, ACancelWhileTheProofIsAwaitedLeavesNothing) {
    line->hold_resume = 1;
    acquire_outcome outcome;
    lock_options hasty;
    hasty.wait_max = 1s;
    client->async_acquire("door", hasty, client_world::record(outcome));
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_TRUE(outcome.code);
    world.pass(100ms);
    EXPECT_EQ(world.server.entries(), 0u);
    line->hold_resume.reset();
    EXPECT_TRUE(world.acquire(*client, "door").held());
}

}  // namespace
}  // namespace mortise::test
