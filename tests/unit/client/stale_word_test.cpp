// SPDX-License-Identifier: BSL-1.0
// What a store said may be old by the time that it is heard.
#include "unit/client/client_world.hpp"
#include "unit/client/edited_store.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class StaleWord : public testing::Test {
protected:
    lock_client edited() {
        return world.client(std::make_unique<edited_store>(world.server.make_store(), line));
    }

    fencing_token holder_of(lock_client& locks, std::string name) {
        fencing_token token;
        bool done = false;
        locks.async_inspect(std::move(name), 1, [&](error_code, std::optional<lock_view> seen) {
            done = true;
            if (seen && !seen->holders.empty())
                token = seen->holders.front().token;
        });
        EXPECT_TRUE(world.run_until([&] { return done; }));
        return token;
    }

    client_world world;
    std::shared_ptr<edited_line> line = std::make_shared<edited_line>();
};

TEST_F(StaleWord, APushToARequestThatTheStoreForgotGrantsNothingToTheNextOne) {
    lock_client alice = world.client();
    lock_client bob = edited();
    lock_client carol = world.client();
    lease held = world.acquire(alice, "door");
    acquire_outcome of_bob;
    acquire_outcome of_carol;
    bob.async_acquire("door", lock_options(), client_world::record(of_bob));
    world.pass(1ms);
    carol.async_acquire("door", lock_options(), client_world::record(of_carol));
    world.pass(1ms);

    // Bob is granted the lock, and does not hear of it before somebody breaks the grant.
    line->hold_events = true;
    held = lease();
    world.pass(1ms);
    bool broken = false;
    alice.async_break("door", holder_of(alice, "door"), "", [&](error_code, bool done) {
        broken = done;
    });
    ASSERT_TRUE(world.run_until([&] { return of_carol.done; }));
    ASSERT_TRUE(broken && of_carol.held.held());
    world.pass(1'100ms);  // a heartbeat: bob looks, is not there, and asks again
    ASSERT_EQ(line->held.front().type, store_event::kind::granted);
    line->let_events_go();
    world.pass(1ms);
    EXPECT_FALSE(of_bob.done) << "two hold the lock";

    const auto before = of_carol.held.token();
    of_carol.held = lease();
    ASSERT_TRUE(world.run_until([&] { return of_bob.done; }));
    EXPECT_TRUE(of_bob.held.held());
    EXPECT_GT(of_bob.held.token().value, before.value);
}

/// Bob's request, which is granted and not heard of, and whose grant alice breaks: what he believes
/// is of no worth by then. The look that the break asks for does not judge it, and at a store that
/// counts nothing there is no reason for another one.
class BrokenUnheard : public StaleWord {
protected:
    BrokenUnheard() {
        line->hold_answers = true;
        bob.async_acquire("door", lock_options(), client_world::record(of_bob));
        world.pass(1ms);
    }

    void break_it() {
        bool broken = false;
        alice.async_break("door", holder_of(alice, "door"), "", [&](error_code, bool done) {
            broken = done;
        });
        EXPECT_TRUE(world.run_until([&] { return broken; }));
        world.pass(1ms);
    }
    void hear() {
        line->hold_answers = false;
        ASSERT_TRUE(world.run_until([&] { return of_bob.done; }));
    }
    void expect_a_loss() {
        const lease of_alice = world.acquire(alice, "door");
        world.pass(2s);  // a heartbeat
        EXPECT_FALSE(of_bob.held.held()) << "two hold the lock";
        EXPECT_EQ(of_bob.held.check(), errc::lease_lost);
        EXPECT_TRUE(of_alice.held());
        EXPECT_TRUE(window.held());
    }

    lock_client counts_nothing() {
        line->edit_traits = [](store_traits& traits) { traits.counts = false; };
        return edited();
    }

    lock_client alice = world.client();
    lock_client bob = counts_nothing();
    lease window = world.acquire(bob, "window");
    acquire_outcome of_bob;
};

// The store has told by name that it took the grant away. Whatever says later that it was granted
// is older: an answer, a push, or a part of a look.
TEST_F(BrokenUnheard, AGrantThatWasTakenAwayBeforeItIsHeardOfIsNeverBelieved) {
    line->hold_events = true;
    break_it();
    line->held.clear();
    store_event taken;
    taken.id = 2;
    taken.change = 1;
    line->events->on_store_event(taken);
    world.pass(10ms);
    const lease of_alice = world.acquire(alice, "door");
    line->hold_answers = false;
    world.pass(10ms);
    EXPECT_FALSE(of_bob.done) << "two hold the lock";
    store_event late;
    late.type = store_event::kind::granted;
    late.id = 2;
    late.token = of_alice.token();
    line->events->on_store_event(late);
    world.pass(10ms);
    EXPECT_FALSE(of_bob.done);
    EXPECT_TRUE(of_alice.held());
}

// The request is asked again by its number, and the store, which has nothing of it any more, grants
// it once more.
TEST_F(StaleWord, AGrantThatWasTakenAwayMayBeGivenAgain) {
    line->remote = true;
    lock_client alice = world.client();
    lock_client bob = edited();
    lease window = world.acquire(bob, "window");
    acquire_outcome of_bob;
    line->hold_requests = std::make_shared<bool>(true);
    line->hold_events = true;
    bob.async_acquire("door", lock_options(), client_world::record(of_bob));
    world.pass(1ms);
    bool broken = false;
    alice.async_break("door", holder_of(alice, "door"), "", [&](error_code, bool done) {
        broken = done;
    });
    ASSERT_TRUE(world.run_until([&] { return broken; }));
    *std::exchange(line->hold_requests, nullptr) = false;
    line->hold_events = false;
    line->held.clear();
    world.pass(2ms);  // The answer is lost by now.
    store_event taken;
    taken.id = 2;
    taken.change = 1;
    line->events->on_store_event(taken);
    ASSERT_TRUE(world.run_until([&] { return of_bob.done; }));
    EXPECT_TRUE(of_bob.held.held());
    EXPECT_TRUE(window.held());
}

TEST_F(StaleWord, ChangesThatAStoreForgotAreLookedForOnce) {
    lock_client bob = edited();
    const lease held = world.acquire(bob, "door");
    for (std::uint64_t change = 1; change <= 8; ++change) {
        store_event waited_for;
        waited_for.type = store_event::kind::contended;
        waited_for.id = 1;
        waited_for.change = change;
        line->events->on_store_event(waited_for);
    }
    const random_id other = random_id::draw();
    line->edit_beat = [&](heartbeat& beat) {
        beat.changes = 5;
        beat.incarnation = other;
    };
    line->edit_look = [](session_view& view) { view.changes = 5; };
    world.pass(2s);
    const auto looks = bob.stats().looks;
    EXPECT_GT(looks, 0u) << "the store is another one";
    world.pass(5s);
    EXPECT_EQ(bob.stats().looks, looks);
    EXPECT_TRUE(held.held());
}

TEST_F(BrokenUnheard, AGrantIsLostWithTheNextHeartbeatIfItIsHeardOfAfterTheLook) {
    const auto looks = bob.stats().looks;
    break_it();
    EXPECT_GT(bob.stats().looks, looks);
    hear();
    expect_a_loss();
}

TEST_F(BrokenUnheard, AGrantIsLostWithTheNextHeartbeatIfItIsHeardOfDuringTheLook) {
    line->hold_looks = true;
    const auto looks = bob.stats().looks;
    break_it();
    hear();
    EXPECT_EQ(bob.stats().looks, looks);
    line->hold_looks = false;
    world.pass(5ms);
    EXPECT_EQ(bob.stats().looks, looks + 1);
    EXPECT_TRUE(of_bob.held.held());
    expect_a_loss();
}

TEST_F(StaleWord, AGrantThatTheStoreForgotBeforeItsProofIsNotDelivered) {
    lock_client alice = world.client();
    lock_client bob = edited();
    lease held = world.acquire(alice, "door");
    acquire_outcome outcome;
    bob.async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(10ms);
    // Bob's session lives, and is not proved; so the grant that comes waits for a proof.
    world.server.lose_replies(1'000);
    world.pass(4s);
    world.server.lose_replies(0);
    // The store started again with an older copy: it knows the request, and no grant.
    const random_id again = random_id::draw();
    line->edit_beat = [&](heartbeat& reply) { reply.incarnation = again; };
    line->edit_look = [](session_view& view) {
        for (auto& entry : view.entries) {
            entry.granted = false;
            entry.token = {};
        }
    };
    held = lease();
    world.pass(500ms);
    EXPECT_FALSE(outcome.done) << "holds what the store has not";

    line->edit_look = nullptr;  // It grants it.
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_TRUE(outcome.held.held());
    EXPECT_EQ(outcome.held.token(), holder_of(bob, "door"));
}

TEST_F(StaleWord, ALookThatBeganBeforeTheStoreChangedProvesNothing) {
    lock_client bob = edited();
    lease window = world.acquire(bob, "window");
    line->hold_looks = true;
    line->events->on_store_event({});  // look again
    world.pass(1ms);
    lease door = world.acquire(bob, "door");
    // The store started again with an older copy, that has nothing of the door.
    const random_id again = random_id::draw();
    line->edit_beat = [&](heartbeat& reply) { reply.incarnation = again; };
    line->edit_look = [&](session_view& view) {
        std::erase_if(view.entries, [](const auto& entry) { return entry.name == "door"; });
        line->hold_looks = true;  // the next one waits
    };
    world.pass(1'100ms);
    ASSERT_EQ(door.state(), lease_state::unsure);
    line->hold_looks = false;
    world.pass(10ms);
    EXPECT_EQ(door.state(), lease_state::unsure) << "that look did not ask for the door";
    line->hold_looks = false;
    world.pass(10ms);
    EXPECT_EQ(door.state(), lease_state::lost);
    EXPECT_EQ(window.state(), lease_state::held);
}

TEST_F(StaleWord, AnAnswerToALostSessionDoesNotHideWhatTheNextOneHasMissed) {
    lock_client bob = edited();
    acquire_outcome outcome;
    const auto hold = line->hold_requests = std::make_shared<bool>(true);
    bob.async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(1ms);
    store_event loss;
    loss.type = store_event::kind::session_lost;
    line->events->on_store_event(loss);
    line->hold_requests = nullptr;
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    ASSERT_TRUE(outcome.held.held());
    *hold = false;  // now the first request fails, too
    world.pass(2s);
    const auto looks = bob.stats().looks;
    world.pass(2s);
    ASSERT_EQ(bob.stats().looks, looks) << "nothing differs";

    // The store has an entry of this session that nobody here knows.
    line->edit_beat = [](heartbeat& reply) { ++reply.requests; };
    world.pass(2s);
    EXPECT_GT(bob.stats().looks, looks);
}

TEST_F(StaleWord, TheLateEndOfOneWaitDoesNotDisturbThoseWhoCameAfterIt) {
    lock_client alice = world.client();
    lock_client bob = edited();
    lease held = world.acquire(alice, "door");
    acquire_outcome first;
    acquire_outcome second;
    acquire_outcome third;
    const auto hold = line->hold_requests = std::make_shared<bool>(true);
    bob.async_acquire("door", {.wait_max = 10ms}, client_world::record(first));
    ASSERT_TRUE(world.run_until([&] { return first.done; }));  // after its budget
    line->hold_requests = nullptr;
    bob.async_acquire("door", lock_options(), client_world::record(second));
    world.pass(10ms);
    *hold = false;  // now the first request fails, too, and is withdrawn
    world.pass(10ms);
    ASSERT_EQ(world.server.entries(), 2u);
    bob.async_acquire("door", lock_options(), client_world::record(third));
    world.pass(10ms);
    EXPECT_EQ(world.server.entries(), 2u) << "one request stands for all of a client";
    held = lease();
    ASSERT_TRUE(world.run_until([&] { return second.done; }));
    EXPECT_FALSE(third.done);
    second.held = lease();
    EXPECT_TRUE(world.run_until([&] { return third.done; }));
}

}  // namespace
}  // namespace mortise::test
