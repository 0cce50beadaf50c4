// SPDX-License-Identifier: BSL-1.0
// A holder that gives a lock away and wants it again does so in one step.
#include "conformance/client_fixture.hpp"
#include "conformance/peer.hpp"
#include "support/print.hpp"
#include "unit/zookeeper/relayed_harness.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test::zookeeper_exchange_test {
namespace {

using namespace std::chrono_literals;
using way = tcp_relay::way;

lock_request wish_of(const peer& by, lock_mode mode = {}) {
    lock_request wish;
    wish.id = by.last_id() + 100;
    wish.name = "door";
    wish.mode = mode;
    return wish;
}

asio::awaitable<void> exchange(
    peer& by,
    grant held,
    lock_request wish,
    std::shared_ptr<std::optional<released_and_asked>> reply
) {
    auto turning = by.port().release_and_request(std::move(held), std::move(wish));
    *reply = co_await std::move(turning);
}

grant grant_of(request_id id, fencing_token token) {
    grant held;
    held.id = id;
    held.name = "door";
    held.token = token;
    return held;
}

TEST(ZooKeeperExchange, GivesTheLockToTheNextAndStandsBehind) {
    relayed_harness harness;
    harness.run([](relayed_harness& at) -> asio::awaitable<void> {
        peer alice(at, 30s);
        peer bob(at, 30s);
        peer carol(at, 30s);
        for (peer* const each : {&alice, &bob, &carol})
            co_await each->open();
        grant held = co_await alice.hold("door");
        EXPECT_EQ((co_await bob.ask("door"))->type, answer::kind::queued);
        const auto of_bob = bob.last_id();
        EXPECT_EQ((co_await carol.ask("door"))->type, answer::kind::queued);
        const auto wish = wish_of(alice);
        const auto first = held.token;
        const auto both = co_await alice.port().release_and_request(std::move(held), wish);
        EXPECT_TRUE(both.released && *both.released);
        EXPECT_EQ(both.asked->type, answer::kind::queued);
        EXPECT_EQ(both.asked->position, 2u);
        EXPECT_TRUE(co_await bob.hears(store_event::kind::granted, of_bob));
        const auto second = bob.heard_token();
        EXPECT_GT(second.value, first.value);
        EXPECT_EQ(at.nodes_of("door"), 3u);
        EXPECT_TRUE(*(co_await bob.port().release(grant_of(of_bob, second))));
        EXPECT_TRUE(co_await carol.hears(store_event::kind::granted, carol.last_id()));
        const auto third = carol.heard_token();
        EXPECT_TRUE(*(co_await carol.port().release(grant_of(carol.last_id(), third))));
        EXPECT_TRUE(co_await alice.hears(store_event::kind::granted, wish.id));
        EXPECT_GT(alice.heard_token().value, third.value);
        for (peer* const each : {&alice, &bob, &carol})
            EXPECT_FALSE(co_await each->port().end());
    }(harness));
    EXPECT_EQ(harness.residue(), 0u);
}

TEST(ZooKeeperExchange, OfALockThatNobodyElseWantsIsAGrantWithAGreaterToken) {
    relayed_harness harness;
    harness.run([](relayed_harness& at) -> asio::awaitable<void> {
        peer alice(at, 30s);
        co_await alice.open();
        grant held = co_await alice.hold("door");
        for (int i = 0; i < 5; ++i) {
            auto wish = wish_of(alice);
            wish.id += static_cast<request_id>(i);
            const auto before = held.token;
            const auto both = co_await alice.port().release_and_request(std::move(held), wish);
            EXPECT_TRUE(both.released && *both.released);
            EXPECT_EQ(both.asked->type, answer::kind::granted);
            EXPECT_GT(both.asked->token.value, before.value);
            EXPECT_EQ(at.nodes_of("door"), 1u);
            held = grant_of(wish.id, both.asked->token);
        }
        EXPECT_FALSE(co_await alice.port().end());
    }(harness));
    EXPECT_EQ(harness.residue(), 0u);
}

TEST(ZooKeeperExchange, OfAGrantThatWasTakenAwayMakesTheRequestAllTheSame) {
    relayed_harness harness;
    harness.run([](relayed_harness& at) -> asio::awaitable<void> {
        peer alice(at, 30s);
        co_await alice.open();
        grant held = co_await alice.hold("door");
        const auto nodes = at.tree().children(at.root() + "/locks/door");
        EXPECT_EQ(nodes.size(), 1u);
        EXPECT_FALSE(at.tree().erase(at.root() + "/locks/door/" + nodes.at(0)));
        const auto wish = wish_of(alice);
        const auto both = co_await alice.port().release_and_request(std::move(held), wish);
        EXPECT_TRUE(both.released && !*both.released);
        EXPECT_EQ(both.asked->type, answer::kind::granted);
        EXPECT_EQ(at.nodes_of("door"), 1u);
        EXPECT_TRUE(*(co_await alice.port().release(grant_of(wish.id, both.asked->token))));
        EXPECT_FALSE(co_await alice.port().end());
    }(harness));
    EXPECT_EQ(harness.residue(), 0u);
}

// The first of the queue is a reader, who is granted by a write.
TEST(ZooKeeperExchange, FromOrForAnotherModeIsTwoSteps) {
    relayed_harness harness;
    harness.run([](relayed_harness& at) -> asio::awaitable<void> {
        peer alice(at, 30s);
        peer bob(at, 30s);
        for (peer* const each : {&alice, &bob})
            co_await each->open();
        grant held = co_await alice.hold("door");
        EXPECT_EQ(
            (co_await bob.ask_for("door", {lock_mode::shared()}))->type, answer::kind::queued
        );
        EXPECT_TRUE(co_await alice.hears(store_event::kind::contended, held.id));
        auto wish = wish_of(alice, lock_mode::shared());
        auto both = co_await alice.port().release_and_request(std::move(held), wish);
        EXPECT_TRUE(both.released && *both.released);
        EXPECT_EQ(both.asked->type, answer::kind::granted) << "they share it";
        EXPECT_TRUE(co_await bob.hears(store_event::kind::granted, bob.last_id()));
        held = grant_of(wish.id, both.asked->token);
        wish.id += 1;
        wish.mode = lock_mode::exclusive();
        both = co_await alice.port().release_and_request(std::move(held), wish);
        EXPECT_TRUE(both.released && *both.released);
        EXPECT_EQ(both.asked->type, answer::kind::queued);
        for (peer* const each : {&alice, &bob})
            EXPECT_FALSE(co_await each->port().end());
    }(harness));
    EXPECT_EQ(harness.residue(), 0u);
}

asio::awaitable<void> end(peer& by, std::shared_ptr<std::optional<error_code>> reply) {
    auto ending = by.port().end();
    *reply = co_await std::move(ending);
}

// The release is under way when the client stops: nothing is asked for any more.
TEST(ZooKeeperExchange, ThatIsOvertakenByTheEndLeavesNothing) {
    for (const auto mode : {lock_mode::shared(), lock_mode::exclusive()}) {
        relayed_harness harness;
        harness.detour.refuse(true);
        harness.run([mode](relayed_harness& at) -> asio::awaitable<void> {
            peer alice(at, 30s);
            co_await alice.open();
            const grant held = co_await alice.hold_for("door", {mode});
            auto wish = wish_of(alice);
            wish.mode = mode;
            const auto both = std::make_shared<std::optional<released_and_asked>>();
            const auto ended = std::make_shared<std::optional<error_code>>();
            at.way.hold(way::to_client, true);
            asio::co_spawn(at.executor(), exchange(alice, held, wish, both), asio::detached);
            asio::co_spawn(at.executor(), end(alice, ended), asio::detached);
            co_await pause(at, 10ms);
            at.way.hold(way::to_client, false);
            co_await until(at, [&] { return both->has_value() && ended->has_value(); });
            EXPECT_FALSE(**ended);
            EXPECT_EQ(at.nodes_of("door"), 0u);
        }(harness));
        EXPECT_EQ(harness.residue(), 0u);
    }
}

TEST(ZooKeeperExchange, WhoseAnswerIsLostIsMadeUpFor) {
    relayed_harness harness;
    harness.detour.refuse(true);
    harness.run([](relayed_harness& at) -> asio::awaitable<void> {
        peer alice(at, 30s);
        at.relays = false;
        peer bob(at, 30s);
        for (peer* const each : {&alice, &bob})
            co_await each->open();
        const grant held = co_await alice.hold("door");
        EXPECT_EQ((co_await bob.ask("door"))->type, answer::kind::queued);
        const auto wish = wish_of(alice);
        const auto reply = std::make_shared<std::optional<released_and_asked>>();
        at.way.hold(way::to_client, true);
        asio::co_spawn(at.executor(), exchange(alice, held, wish, reply), asio::detached);
        EXPECT_TRUE(co_await bob.hears(store_event::kind::granted, bob.last_id()));
        const auto token = bob.heard_token();
        EXPECT_EQ(at.nodes_of("door"), 2u) << "in one step";
        at.way.end_connections();
        at.way.hold(way::to_client, false);
        co_await until(at, [&] { return reply->has_value(); });
        EXPECT_FALSE((*reply)->released.has_value());
        EXPECT_FALSE((*reply)->asked.has_value());
        result<bool> released = error_code(errc::outcome_unknown);
        result<answer> asked = error_code(errc::outcome_unknown);
        for (const auto end = clock::now() + 20s; !released && clock::now() < end;) {
            released = co_await alice.port().release(held);
            co_await pause(at, 0ms);
        }
        EXPECT_TRUE(released && !*released) << "it is gone already";
        for (const auto end = clock::now() + 20s; !asked && clock::now() < end;) {
            asked = co_await alice.port().request(wish);
            co_await pause(at, 0ms);
        }
        EXPECT_TRUE(asked && asked->type == answer::kind::queued);
        EXPECT_EQ(at.nodes_of("door"), 2u) << "it was found";
        EXPECT_TRUE(*(co_await bob.port().release(grant_of(bob.last_id(), token))));
        EXPECT_TRUE(co_await alice.hears(store_event::kind::granted, wish.id));
        EXPECT_GT(alice.heard_token().value, token.value);
        for (peer* const each : {&alice, &bob})
            EXPECT_FALSE(co_await each->port().end());
    }(harness));
    EXPECT_EQ(harness.residue(), 0u);
}

}  // namespace
}  // namespace mortise::test::zookeeper_exchange_test
