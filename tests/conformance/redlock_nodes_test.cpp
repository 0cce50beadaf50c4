// SPDX-License-Identifier: BSL-1.0
// Redlock while some of its nodes are slow, away, wrong about the time, or without memory. In
// virtual time.
#include "conformance/peer.hpp"
#include "conformance/redlock_model_harness.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <string>

namespace mortise::test::redlock_nodes_test {
namespace {

using namespace std::chrono_literals;
using answer_kind = answer::kind;
using told_kind = store_event::kind;

/// Much longer than nodes need that are there, and much less than a node is waited for.
constexpr auto soon = 100ms;

asio::awaitable<void> pass(store_harness& harness, clock::duration span) {
    co_await harness.time()->async_wait_until(harness.time()->now() + span);
}

/// Sends heartbeats for so long.
asio::awaitable<void> live(store_harness& harness, peer& who, clock::duration span) {
    const auto end = harness.time()->now() + span;
    while (harness.time()->now() < end) {
        co_await who.port().beat(0);
        co_await pass(harness, harness.ttl() / 6);
    }
}

/// The number of the set of nodes that keeps a grant.
asio::awaitable<proof_number> set_of(peer& who, request_id id) {
    const auto view = co_await who.port().look(0);
    for (const auto& entry : view->entries) {
        if (entry.id == id)
            co_return entry.number;
    }
    ADD_FAILURE() << "it is not there";
    co_return 0;
}

/// A field of the record of a node.
std::string record_of(redis_model::sim_redis& node, const std::string& field) {
    auto& model = node.model();
    const auto admin = model.connect([](const store_detail::redis_value&) {});
    auto text = model.execute(admin, {"HGET", "{mortise:}id", field}).text;
    model.disconnect(admin);
    return text;
}

/// Whether a node has given a vote for the lock.
bool has_vote(redis_model::sim_redis& node, const std::string& lock) {
    return node.model().keys().contains("{mortise:}l:" + lock);
}

/// Takes the vote away without a word.
void take_vote(redis_model::sim_redis& node, const std::string& lock) {
    auto& model = node.model();
    const auto admin = model.connect([](const store_detail::redis_value&) {});
    model.execute(admin, {"DEL", "{mortise:}l:" + lock});
    model.disconnect(admin);
}

class RedlockNodes : public testing::Test {
protected:
    redlock_model_harness at;
};

TEST_F(RedlockNodes, ANodeThatIsSlowDelaysTheHeartbeatsOfOtherSetsNot) {
    at.run([](redlock_model_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        harness.node(1).host().pause();
        const grant narrow = co_await alice.hold("door");
        harness.node(1).host().resume();
        co_await live(harness, alice, harness.ttl());
        const grant wide = co_await alice.hold("window");
        const auto weak = co_await set_of(alice, narrow.id);
        const auto strong = co_await set_of(alice, wide.id);
        EXPECT_NE(weak, strong);
        harness.node(2).host().pause();
        bool answered = false;
        bool proved = true;
        asio::co_spawn(
            harness.executor(),
            alice.port().beat(weak),
            [&](std::exception_ptr, const result<heartbeat>& reply) {
                answered = true;
                proved = reply.has_value();
            }
        );
        const auto begun = harness.time()->now();
        const auto beat = co_await alice.port().beat(strong);
        EXPECT_TRUE(beat) << beat.error().message();
        EXPECT_LT(harness.time()->now() - begun, soon);
        EXPECT_FALSE(answered) << "it needs the node that is slow";
        co_await pass(harness, harness.ttl() / 2);
        EXPECT_TRUE(answered);
        EXPECT_FALSE(proved);
    }(at));
}

TEST_F(RedlockNodes, ARefusalWaitsForNoNodeThatCannotChangeIt) {
    at.run([](redlock_model_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        co_await alice.hold("door");
        harness.node(2).host().pause();
        const auto begun = harness.time()->now();
        const auto refused = co_await bob.ask("door", false);
        EXPECT_EQ(refused->type, answer_kind::refused);
        EXPECT_LT(harness.time()->now() - begun, soon);
        const auto queued = co_await bob.ask("door");
        EXPECT_EQ(queued->type, answer_kind::queued);
        EXPECT_LT(harness.time()->now() - begun, 2 * soon);
    }(at));
}

// It does not answer, and may have either of them.
TEST_F(RedlockNodes, SplitVotesEndAlthoughANodeIsFrozen) {
    at.run([](redlock_model_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        harness.node(2).host().pause();
        const auto begun = harness.time()->now();
        for (int round = 0; round < 8; ++round) {
            const std::string name = "door " + std::to_string(round);
            bool asked = false;
            asio::co_spawn(
                harness.executor(),
                alice.ask(name),
                [&](std::exception_ptr, const result<answer>&) { asked = true; }
            );
            co_await bob.ask(name);
            const auto of_bob = bob.last_id();
            while (!asked)
                co_await pass(harness, 1ms);
            co_await pass(
                harness, soon / 2
            );  // Of two ballots, each with a moment for the third node.
            const auto holds = [&](peer& who, request_id id) -> asio::awaitable<bool> {
                const auto view = co_await who.port().look(0);
                for (const auto& entry : view->entries) {
                    if (entry.id == id && entry.granted)
                        co_return true;
                }
                co_return false;
            };
            const bool first = co_await holds(alice, alice.last_id());
            const bool second = co_await holds(bob, of_bob);
            EXPECT_NE(first, second) << "round " << round;
        }
        EXPECT_LT(harness.time()->now() - begun, harness.ttl() / 3) << "it is not given up yet";
    }(at));
}

TEST_F(RedlockNodes, AHolderIsSeenAndBrokenThoughOneOfItsTwoNodesIsAway) {
    at.run([](redlock_model_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        harness.node(1).crash();
        const grant held = co_await alice.hold("door");
        harness.node(1).start();
        for (int third = 0; third < 6; ++third) {
            co_await live(harness, alice, harness.ttl() / 6);
            co_await live(harness, bob, harness.ttl() / 6);
        }
        EXPECT_FALSE(has_vote(harness.node(1), "door")) << "it was not asked";
        harness.node(2).host().pause();
        const auto seen = co_await bob.port().inspect("door", 1);
        EXPECT_EQ((*seen)->holders.size(), 1u);
        EXPECT_EQ((*seen)->holders.at(0).token, held.token);
        EXPECT_TRUE(*co_await bob.break_("door", held.token));
        EXPECT_EQ((co_await bob.ask("door", false))->type, answer_kind::granted);
        EXPECT_FALSE(*co_await bob.break_("door", held.token)) << "it is broken";
    }(at));
}

// A set with one node less than it had is of no use any more, but for what it still keeps.
TEST_F(RedlockNodes, ASetIsNotLostWhileItsLastGrantIsBeingReleased) {
    at.run([](redlock_model_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        const grant held = co_await alice.hold("door");
        harness.node(2).restart_after(1ms, redis_model::kept::nothing);
        co_await live(harness, alice, harness.ttl() / 2);
        alice.take_events();
        harness.node(0).host().pause();
        harness.node(1).host().pause();
        bool released = false;
        bool had = false;
        asio::co_spawn(
            harness.executor(),
            alice.port().release(held),
            [&](std::exception_ptr, const result<bool>& reply) {
                released = true;
                had = reply.has_value() && *reply;
            }
        );
        co_await alice.port().beat(0);
        co_await pass(harness, 1ms);  // What it tells, it tells later.
        EXPECT_FALSE(alice.has(told_kind::session_lost));
        harness.node(0).host().resume();
        harness.node(1).host().resume();
        co_await live(harness, alice, harness.ttl() / 2);
        EXPECT_TRUE(released);
    }(at));
}

// What it had forgotten includes how long others may believe in their leases.
TEST_F(RedlockNodes, ANodeWithoutMemoryStaysOutForTheLongestTtlThatOthersKnow) {
    at.run([](redlock_model_harness& harness) -> asio::awaitable<void> {
        const auto longest = 3 * harness.ttl();
        harness.expect_ttl(longest);
        peer alice(harness, longest);
        co_await alice.open();
        co_await alice.hold("door");
        harness.expect_ttl(harness.ttl());
        peer bob(harness);
        co_await bob.open();
        alice.drop();  // It does not hear of it.
        harness.node(0).restart_after(1ms, redis_model::kept::nothing);
        co_await live(harness, bob, harness.ttl() * 3 / 2);
        EXPECT_EQ(record_of(harness.node(0), "longest"), std::to_string(longest.count()));
        EXPECT_EQ(record_of(harness.node(0), "knows"), "0");
        co_await live(harness, bob, 2 * harness.ttl());
        EXPECT_EQ(record_of(harness.node(0), "knows"), "1");
    }(at));
}

// One client knows of the clock that is ahead, and the other one does not yet.
TEST_F(RedlockNodes, AClockThatIsAheadLetsNobodyOvertake) {
    at.run([](redlock_model_harness& harness) -> asio::awaitable<void> {
        peer carol(harness);
        peer alice(harness);
        co_await carol.open();
        co_await alice.open();
        const grant held = co_await carol.hold("door");
        harness.node(2).shift_clock(harness.ttl() / 2);  // The latest one.
        peer bob(harness);
        co_await bob.open();
        const auto first = co_await bob.ask("door");
        const request_id of_bob = bob.last_id();
        EXPECT_EQ(first->type, answer_kind::queued);
        co_await pass(harness, 20ms);
        const auto second = co_await alice.ask("door");
        EXPECT_EQ(second->type, answer_kind::queued);
        EXPECT_TRUE(*co_await carol.port().release(held));
        EXPECT_TRUE(co_await bob.hears(told_kind::granted, of_bob));
        EXPECT_FALSE(alice.has(told_kind::granted));
    }(at));
}

// Others may have that vote by then.
TEST_F(RedlockNodes, AHolderThatHasLostAVoteFreesTheOthersOnceItsClientIsTold) {
    at.run([](redlock_model_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        const auto waiting = co_await bob.ask("door");
        EXPECT_EQ(waiting->type, answer_kind::queued);
        const request_id of_bob = bob.last_id();
        harness.node(1).host().pause();
        harness.node(2).host().pause();
        EXPECT_TRUE(has_vote(harness.node(0), "door"));
        take_vote(harness.node(0), "door");
        harness.node(0).drop_clients();  // It looks, since messages may be lost.
        co_await alice.hears(told_kind::look_again, 0, harness.ttl() / 2);
        EXPECT_FALSE(bob.has(told_kind::granted)) << "the other votes are there";
        harness.node(1).host().resume();
        harness.node(2).host().resume();
        EXPECT_TRUE(co_await bob.hears(told_kind::granted, of_bob, harness.ttl()));
        EXPECT_GT(bob.heard_token().value, held.token.value);
    }(at));
}

// The words of a node are lost with a connection: one may have been that the vote is gone.
TEST_F(RedlockNodes, AVoteIsNotCountedAfterAGapUntilItsNodeSaysSoAgain) {
    at.run([](redlock_model_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        harness.node(1).host().pause();
        harness.node(2).host().pause();
        bool granted = false;
        asio::co_spawn(
            harness.executor(),
            alice.ask("door"),
            [&](std::exception_ptr, const result<answer>& reply) {
                granted = reply && reply->type == answer_kind::granted;
            }
        );
        co_await pass(harness, soon);
        EXPECT_TRUE(has_vote(harness.node(0), "door"));
        take_vote(harness.node(0), "door");
        harness.node(0).drop_clients();
        co_await pass(harness, soon);
        harness.node(1).host().resume();
        co_await pass(harness, harness.ttl() / 3);
        EXPECT_TRUE(granted);
        EXPECT_TRUE(has_vote(harness.node(0), "door"));
        EXPECT_TRUE(has_vote(harness.node(1), "door"));
    }(at));
}

// It was not heard by that node when it asked.
TEST_F(RedlockNodes, AWaiterIsKnownToANodeThatWasAwayWhenItAsked) {
    at.run([](redlock_model_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        auto& wrong = harness.node(0).model().wrong();
        wrong.busy = true;
        co_await bob.ask("door");
        const request_id of_bob = bob.last_id();
        wrong.busy = false;
        co_await live(harness, bob, harness.ttl() / 3);
        harness.node(2).host().pause();  // Now the first one is needed.
        EXPECT_TRUE(*co_await alice.port().release(held));
        EXPECT_TRUE(co_await bob.hears(told_kind::granted, of_bob, soon));
    }(at));
}

}  // namespace
}  // namespace mortise::test::redlock_nodes_test
