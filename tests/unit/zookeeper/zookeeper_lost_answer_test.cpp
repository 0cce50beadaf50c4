// SPDX-License-Identifier: BSL-1.0
// A server has done what was asked, and its answer is lost with the connection, or late.
#include "conformance/client_fixture.hpp"
#include "conformance/peer.hpp"
#include "mortise/lock_client.hpp"
#include "support/print.hpp"
#include "unit/zookeeper/relayed_harness.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace mortise::test::zookeeper_lost_answer_test {
namespace {

using namespace std::chrono_literals;
using way = tcp_relay::way;

/// One client behind a relay, and one that has the lock already, with room for the other.
class ZooKeeperLostAnswer : public testing::TestWithParam<lock_mode> {
protected:
    ZooKeeperLostAnswer() {
        harness.detour.refuse(true);
        lent = acquire(other, GetParam());
        lease first = acquire(one, GetParam());  // for a session
        bool released = false;
        first.async_release([&](error_code) { released = true; });
        EXPECT_TRUE(harness.run_until([&] { return released; }, 20s));
    }

    lock_client client(bool relays) {
        client_config config = config_of(harness);
        config.ttl = 30s;
        harness.relays = relays;
        return lock_client(harness.executor(), harness.make_store(), config);
    }
    lease acquire(lock_client& by, lock_mode mode) {
        lock_options options;
        options.mode = mode;
        std::optional<lease> got;
        by.async_acquire("door", options, [&](error_code failed, lease held) {
            EXPECT_FALSE(failed) << failed.message();
            got = std::move(held);
        });
        EXPECT_TRUE(harness.run_until([&] { return got.has_value(); }, 20s)) << by.explain();
        return got ? std::move(*got) : lease();
    }
    /// Asks once more, and lets the answer be lost. @return what comes of it
    std::pair<std::optional<error_code>, lease> acquire_without_answer(lock_mode mode) {
        EXPECT_EQ(harness.nodes_of("door"), 1u);
        std::pair<std::optional<error_code>, lease> got;
        lock_options options;
        options.mode = mode;
        harness.way.hold(way::to_client, true);
        one.async_acquire("door", options, [&](error_code failed, lease held) {
            got = {failed, std::move(held)};
        });
        EXPECT_TRUE(harness.run_until([&] { return harness.nodes_of("door") == 2; }, 20s));
        harness.way.end_connections();
        harness.way.hold(way::to_client, false);
        EXPECT_TRUE(harness.run_until([&] { return got.first.has_value(); }, 20s))
            << one.explain() << harness.left();
        return got;
    }

    relayed_harness harness;
    lock_client one = client(true);
    lock_client other = client(false);
    lease lent;
};

TEST_P(ZooKeeperLostAnswer, OfARequestWithRoomIsMadeUpFor) {
    const auto [failed, held] = acquire_without_answer(GetParam());
    EXPECT_TRUE(failed && !*failed);
    EXPECT_TRUE(held.held());
    EXPECT_EQ(harness.nodes_of("door"), 2u);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, ZooKeeperLostAnswer, testing::Values(lock_mode::shared(), lock_mode::permits(2))
);

class ZooKeeperLostAnswerOfPermits : public ZooKeeperLostAnswer {};

TEST_P(ZooKeeperLostAnswerOfPermits, WithAnotherNumberIsARefusal) {
    const auto [failed, held] = acquire_without_answer(lock_mode::permits(3));
    EXPECT_EQ(failed.value_or(error_code()), errc::capacity_differs);
    EXPECT_FALSE(held);
    EXPECT_TRUE(harness.run_until([&] { return harness.nodes_of("door") == 1; }, 20s));
}

INSTANTIATE_TEST_SUITE_P(Two, ZooKeeperLostAnswerOfPermits, testing::Values(lock_mode::permits(2)));

asio::awaitable<void> release(peer& by, grant held) {
    auto releasing = by.port().release(held);
    co_await std::move(releasing);
}

/// Asks, and notes what the answer was.
asio::awaitable<void>
ask(peer& by, peer::manner how, std::shared_ptr<std::optional<result<answer>>> reply) {
    auto asking = by.ask_for("door", how);
    *reply = co_await std::move(asking);
}

// Bob's permit is carol's by then, and alice's own is for the request whose answer was lost. She
// gives it on before she has asked for that one again.
TEST(ZooKeeperLostGrant, IsNotToldWithoutItsToken) {
    relayed_harness harness;
    harness.detour.refuse(true);
    harness.run([](relayed_harness& at) -> asio::awaitable<void> {
        constexpr peer::manner pair{lock_mode::permits(2)};
        peer alice(at, 30s);
        at.relays = false;
        peer bob(at, 30s);
        peer carol(at, 30s);
        for (peer* const each : {&alice, &bob, &carol})
            co_await each->open();
        const grant held = co_await alice.hold_for("door", pair);
        const grant of_bob = co_await bob.hold_for("door", pair);
        EXPECT_EQ((co_await carol.ask_for("door", pair))->type, answer::kind::queued);
        EXPECT_TRUE(co_await alice.hears(store_event::kind::contended, held.id));
        const auto reply = std::make_shared<std::optional<result<answer>>>();
        at.way.hold(way::to_client, true);
        asio::co_spawn(at.executor(), ask(alice, pair, reply), asio::detached);
        co_await until(at, [&] { return at.nodes_of("door") == 4; });
        asio::co_spawn(at.executor(), release(bob, of_bob), asio::detached);
        co_await until(at, [&] { return at.nodes_of("door") == 3; });
        at.way.end_connections();
        at.way.hold(way::to_client, false);
        co_await until(at, [&] { return reply->has_value(); });
        EXPECT_FALSE((*reply)->has_value());
        const auto lost = alice.last_id();
        result<bool> released = error_code(errc::outcome_unknown);
        for (const auto end = clock::now() + 20s; !released && clock::now() < end;) {
            released = co_await alice.port().release(held);
            co_await pause(at, 0ms);
        }
        EXPECT_TRUE(released && *released);
        co_await pause(at, 200ms);
        for (const auto& each : alice.take_events())
            EXPECT_TRUE(each.type != store_event::kind::granted || each.token);
        lock_request again;
        again.id = lost;
        again.name = "door";
        again.mode = pair.mode;
        const auto answered = co_await alice.port().request(std::move(again));
        EXPECT_EQ(answered->type, answer::kind::granted);
        EXPECT_TRUE(answered->token);
        for (peer* const each : {&alice, &bob, &carol})
            EXPECT_FALSE(co_await each->port().end());
    }(harness));
    EXPECT_EQ(harness.residue(), 0u);
}

class ZooKeeperLateAnswer : public testing::TestWithParam<zookeeper_form> {};

// The request waits for the release before it, whose answer comes when there is another session.
TEST_P(ZooKeeperLateAnswer, LetsNoRequestOfTheOldSessionBegin) {
    relayed_harness harness(GetParam());
    harness.run([](relayed_harness& at) -> asio::awaitable<void> {
        at.detour.refuse(true);
        peer alice(at, 30s);
        co_await alice.open();
        const grant held = co_await alice.hold("door");
        at.detour.refuse(false);
        const auto reply = std::make_shared<std::optional<result<answer>>>();
        at.way.hold(way::to_client, true);
        asio::co_spawn(at.executor(), release(alice, held), asio::detached);
        asio::co_spawn(at.executor(), ask(alice, {}, reply), asio::detached);
        co_await pause(at, 10ms);
        at.way.refuse(true);
        co_await alice.open();
        EXPECT_FALSE(reply->has_value());
        at.way.hold(way::to_client, false);
        co_await until(at, [&] { return reply->has_value(); });
        EXPECT_FALSE((*reply)->has_value());
        EXPECT_TRUE((co_await alice.port().look(0))->entries.empty());
        EXPECT_FALSE(co_await alice.port().end());
    }(harness));
    EXPECT_EQ(harness.residue(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, ZooKeeperLateAnswer, testing::Values(zookeeper_form::queue, zookeeper_form::single_node)
);

}  // namespace
}  // namespace mortise::test::zookeeper_lost_answer_test
