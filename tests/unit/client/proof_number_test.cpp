// SPDX-License-Identifier: BSL-1.0
// Grants that are kept by another proof than that of the session which asked: a set of servers that
// granted together. The store of these tests has one server; it says that the proof with the number
// 1 keeps what the session with the number 0 asked for.
#include "unit/client/client_world.hpp"
#include "unit/client/edited_store.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
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
    void lose_proof() { tell(store_event::kind::session_lost, 1); }

    void tell(store_event::kind kind, proof_number number) {
        store_event event;
        event.type = kind;
        event.number = number;
        line->events->on_store_event(event);
    }

    void ask(acquire_outcome& outcome, std::chrono::milliseconds wait) {
        lock_options options;
        options.wait_max = wait;
        client->async_acquire("door", options, client_world::record(outcome));
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

TEST_F(ProofNumbers, ATryIsToldOfAnOutageOfTheProof) {
    line->remote = true;
    line->refuse_proof = errc::store_unavailable;
    std::optional<error_code> code;
    client->async_try_acquire("door", lock_options(), [&](error_code ec, std::optional<lease>) {
        code = ec;
    });
    world.pass(1s);
    ASSERT_TRUE(code.has_value()) << "only a waiter waits for the server";
    EXPECT_EQ(*code, errc::store_unavailable);
    EXPECT_EQ(world.server.entries(), 0u);
}

TEST_F(ProofNumbers, AGrantThatIsNamedAgainStaysWithItsProof) {
    line->hold_resume = 1;
    acquire_outcome outcome;
    client->async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(100ms);
    ASSERT_FALSE(outcome.done);
    store_event event;
    event.type = store_event::kind::granted;
    event.number = 2;
    event.id = 1;
    event.token.value = std::uint64_t{1} << fencing_token::sequence_bits;
    line->events->on_store_event(event);
    world.pass(100ms);
    EXPECT_FALSE(outcome.done) << "the proof that keeps it is not there";
    line->hold_resume.reset();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_TRUE(outcome.held.held()) << outcome.code.message();
}

// A claim whose grant was lost asks again while the answer to its first request is on the way.
TEST_F(ProofNumbers, AnAnswerToAnEarlierRequestSettlesNothing) {
    lock_client other = world.client();
    lease held = world.acquire(other, "door");
    line->hold_resume = 1;
    const auto first = line->hold_requests = std::make_shared<bool>(true);
    acquire_outcome outcome;
    client->async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(100ms);
    held = lease();
    world.pass(100ms);  // A push names the grant before the answer.
    EXPECT_FALSE(outcome.done);
    const auto second = line->hold_requests = std::make_shared<bool>(true);
    line->free_grants = true;
    lose_proof();
    world.pass(100ms);
    *first = false;
    world.pass(3s);
    EXPECT_FALSE(outcome.done) << "the second request has no answer yet";
    EXPECT_EQ(world.server.entries(), 1u) << "and is not undone";
    *second = false;
    line->hold_requests = nullptr;
    line->hold_resume.reset();
    world.pass(100ms);
}

// A grant is withdrawn while its proof is not there; the next opening begins before the answer.
TEST_F(ProofNumbers, AWithdrawalIsHeardAlthoughAnOpeningBegins) {
    line->remote = true;
    line->refuse_proof = errc::store_unavailable;
    line->hold_withdrawals = true;
    acquire_outcome outcome;
    ask(outcome, 1s);
    world.pass(1'100ms);
    EXPECT_FALSE(outcome.done);
    line->refuse_proof = {};
    world.pass(1'100ms);  // The proof is there, while the grant is being withdrawn.
    line->hold_withdrawals = false;
    world.pass(100ms);
    EXPECT_TRUE(outcome.done);
    EXPECT_EQ(world.server.entries(), 0u);
    EXPECT_EQ(client->stats().undone_late, 0u);
}

// What was asked for is lost with the session that asks, and only its looks tell of it.
TEST_F(ProofNumbers, AGrantThatIsGoneIsAskedForAgainByTheSessionThatAsks) {
    const lease first = world.acquire(*client, "window");
    line->fail_beats = 1;
    world.pass(3s);
    ASSERT_EQ(first.state(), lease_state::unsure);
    acquire_outcome outcome;
    client->async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(10ms);
    ASSERT_FALSE(outcome.done) << "its proof is unsure";
    lock_client other = world.client();
    acquire_outcome stolen;
    other.async_acquire("door", lock_options(), client_world::record(stolen));
    world.pass(10ms);
    other.async_break_holders("door", "for the test", [](error_code, bool) {});
    world.pass(10ms);
    ASSERT_TRUE(stolen.done);
    tell(store_event::kind::look_again, 1);
    world.pass(10ms);
    const auto requests = client->stats().requests;
    tell(store_event::kind::look_again, 1);
    world.pass(10ms);
    EXPECT_EQ(client->stats().requests, requests) << "it keeps its place in the queue";
    tell(store_event::kind::session_lost, 0);
    world.pass(100ms);
    EXPECT_EQ(client->stats().requests, requests + 1);
    stolen.held = lease();
    line->fail_beats.reset();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_TRUE(outcome.held.held()) << outcome.code.message();
}

}  // namespace
}  // namespace mortise::test
