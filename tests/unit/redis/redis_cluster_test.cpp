// SPDX-License-Identifier: BSL-1.0
// A store lies in one slot of a cluster: its clients find the node that has it, and follow it.
#include "store/redis/cluster_wire.hpp"
#include "support/eventually.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_user.hpp"
#include "support/tls_material.hpp"
#include "unit/redis/reply_samples.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <string>
#include <tuple>
#include <vector>

namespace mortise::test::redis_cluster_test {
namespace {

using namespace std::chrono_literals;

using store_detail::cluster_nodes;
using store_detail::parse_moved;
using store_detail::text_of;

TEST(ParseMoved, FindsThePlace) {
    const auto place = parse_moved("MOVED 3999 10.0.0.7:6381", "here");
    ASSERT_TRUE(place);
    EXPECT_EQ(text_of(*place), "10.0.0.7:6381");
    EXPECT_EQ(text_of(parse_moved("MOVED 1 ::1:6381", "here").value()), "::1:6381");
    EXPECT_EQ(text_of(parse_moved("MOVED 1 :6381", "here").value()), "here:6381");
    EXPECT_EQ(text_of(parse_moved("MOVED 1 ?:6381", "here").value()), "here:6381");
}

TEST(ParseMoved, FindsNoneWhereNoneIsNamed) {
    for (const char* const each :
         {"",
          "MOVED",
          "MOVED ",
          "MOVED 1 a",
          "MOVED 1 a:",
          "MOVED 1 a:0",
          "MOVED 1 a:65536",
          "MOVED 1 a:1x",
          "ASK 1 a:1",
          "ERR MOVED 1 a:1"})
        EXPECT_FALSE(parse_moved(each, "here")) << each;
}

std::string order_of(const cluster_nodes& nodes) {
    std::string all;
    std::vector<redis_address> tried;
    while (const auto node = nodes.next(tried)) {
        all += text_of(*node) + ' ';
        tried.push_back(*node);
    }
    return all;
}

TEST(ClusterNodes, AreTriedInTheOrderOfWhatIsKnown) {
    cluster_nodes nodes({{"a", 1}, {"b", 2}});
    EXPECT_EQ(order_of(nodes), "a:1 b:2 ");
    nodes.pass_by({"a", 1});
    EXPECT_EQ(order_of(nodes), "b:2 a:1 ");
    nodes.pass_by({"x", 1});
    nodes.prefer({"c", 3});
    EXPECT_EQ(order_of(nodes), "c:3 b:2 a:1 ");
    nodes.prefer({"a", 1});
    EXPECT_EQ(order_of(nodes), "a:1 c:3 b:2 ");
}

TEST(ClusterNodes, AreLearnedFromTheRangesOfSlotsAndForgottenWithTheNext) {
    const auto node = [](const std::string& host, std::int64_t port) {
        return array_reply({text_reply(host), number_reply(port), text_reply("id")});
    };
    const auto range = array_reply(
        {number_reply(0), number_reply(5), node("b", 2), node("", 3), node("d", 0), text_reply("?")}
    );
    cluster_nodes nodes({{"a", 1}});
    nodes.learn(array_reply({range, range, text_reply("?"), array_reply({})}), {"h", 9});
    EXPECT_EQ(order_of(nodes), "h:9 b:2 h:3 a:1 ");
    nodes.learn(store_detail::redis_value(), {"h", 9});
    EXPECT_EQ(order_of(nodes), "h:9 b:2 h:3 a:1 ") << "it was refused";
    nodes.learn(
        array_reply({array_reply({number_reply(0), number_reply(5), node("e", 5)})}), {"b", 2}
    );
    EXPECT_EQ(order_of(nodes), "b:2 e:5 a:1 ");
}

redis_store_config at(std::initializer_list<std::uint16_t> ports) {
    redis_store_config config;
    for (const auto port : ports)
        config.cluster.emplace_back("127.0.0.1", port);
    config.buckets = 1;
    config.assume_new = true;
    config.longest_ttl = redis_user::usual_ttl;
    return config;
}

const std::string key_of_store = store_key("s");

TEST(RedisCluster, AnyNodeLeadsToTheOneThatHasTheStore) {
    redis_cluster cluster;
    const auto owner = cluster.owner_of(key_of_store);
    const port_reservation nobody;
    redis_user alice(at({cluster.node(cluster.other_than(owner)).port()}));
    redis_user bob(at({nobody.port(), cluster.node(owner).port()}));
    auto held = alice.acquire("door");
    ASSERT_FALSE(held.code) << alice.explain();
    auto asked = bob.ask("door");
    auto admin = cluster.node(owner).connect();
    EXPECT_TRUE(eventually([&] { return parties_at(admin, "door") == 2; }));
    EXPECT_FALSE(alice.release(held.held));
    auto got = outcome_of(asked);
    ASSERT_FALSE(got.code) << bob.explain();
    EXPECT_GT(got.held.token().value, held.held.token().value);
    EXPECT_FALSE(bob.release(got.held));
}

TEST(RedisCluster, ASlotThatMovesIsFollowedWithItsLocks) {
    constexpr auto ttl = 4'000ms;
    redis_cluster cluster;
    const auto owner = cluster.owner_of(key_of_store);
    const auto next = cluster.other_than(owner);
    redis_user alice(at({cluster.node(owner).port()}), ttl);
    redis_user bob(at({cluster.node(owner).port()}), ttl);
    auto held = alice.acquire("door");
    ASSERT_FALSE(held.code) << alice.explain();
    EXPECT_FALSE(bob.acquire("window").code) << bob.explain();
    cluster.begin_to_move(key_of_store, next);
    auto asked = bob.ask("door");
    // The cluster refuses the script, whole, and bob asks again.
    EXPECT_TRUE(eventually([&] {
        const auto text = bob.explain();
        return text.find("TRYAGAIN") != std::string::npos || text.find("ASK") != std::string::npos;
    })) << bob.explain();
    cluster.end_moving(key_of_store, next);
    EXPECT_EQ(cluster.owner_of(key_of_store), next);
    auto admin = cluster.node(next).connect();
    EXPECT_TRUE(eventually([&] { return parties_at(admin, "door") == 2; })) << bob.explain();
    EXPECT_TRUE(eventually([&] { return held.held.held(); })) << alice.explain();
    EXPECT_FALSE(alice.release(held.held)) << alice.explain();
    auto got = outcome_of(asked);
    ASSERT_FALSE(got.code) << bob.explain();
    EXPECT_GT(got.held.token().value, held.held.token().value);
}

// Its keys are all at the source still. A script that has emptied one may not write it again there,
// and would end in the middle, when the next holder is told of its grant already.
TEST(RedisCluster, ALockIsGivenAwayAndWantedAgainWholeOrNotAtAll) {
    redis_cluster cluster;
    const auto owner = cluster.owner_of(key_of_store);
    const auto next = cluster.other_than(owner);
    client_config how;
    how.ttl = 4s;
    how.turn_handoffs_max = 0;
    redis_user alice(at({cluster.node(owner).port()}), how);
    redis_user bob(at({cluster.node(owner).port()}), how);
    auto held = alice.acquire("door");
    ASSERT_FALSE(held.code) << alice.explain();
    auto bobs = bob.ask("door");
    auto admin = cluster.node(owner).connect();
    EXPECT_TRUE(eventually([&] { return parties_at(admin, "door") == 2; }));
    EXPECT_TRUE(eventually([&] { return held.held.contended(); }));
    auto again = alice.ask("door");
    cluster.begin_to_move(key_of_store, next, redis_cluster::part::none);
    held.held = lease();  // Nobody waits for that release.
    EXPECT_TRUE(eventually([&] { return alice.explain().find("TRYAGAIN") != std::string::npos; }))
        << alice.explain();
    cluster.end_moving(key_of_store, next);
    auto got = outcome_of(bobs);
    ASSERT_FALSE(got.code) << bob.explain();
    EXPECT_FALSE(bob.release(got.held)) << bob.explain();
    EXPECT_FALSE(outcome_of(again).code) << alice.explain();
}

// MOVED in the place of an answer is an outage. It was read as data.
TEST(RedisCluster, AnExaminationFollowsASlotThatHasMoved) {
    constexpr auto ttl = 10'000ms;
    redis_cluster cluster;
    const auto owner = cluster.owner_of(key_of_store);
    const auto next = cluster.other_than(owner);
    redis_user alice(at({cluster.node(owner).port()}), ttl);
    EXPECT_FALSE(alice.acquire("door").code) << alice.explain();
    const auto examined = [&] {
        return alice.client().async_examine(asio::as_tuple(asio::use_future)).get();
    };
    const auto [code, findings] = examined();
    EXPECT_FALSE(code) << alice.explain();
    cluster.begin_to_move(key_of_store, next);
    EXPECT_EQ(std::get<0>(examined()), errc::store_unavailable) << alice.explain();
    cluster.end_moving(key_of_store, next);
    // A heartbeat may have followed the slot already.
    EXPECT_TRUE(eventually([&] {
        const auto [failed, found] = examined();
        EXPECT_TRUE(!failed || failed == errc::store_unavailable) << failed.message();
        for (const auto& each : found)
            EXPECT_EQ(each.found.find("MOVED"), std::string::npos) << each.found;
        return !failed;
    })) << alice.explain();
}

// The others lead to the node that has the slot: what it says is what is wrong.
TEST(RedisCluster, ASearchFailsForWhatTheOwnerSays) {
    redis_cluster cluster;
    const auto owner = cluster.owner_of(key_of_store);
    const auto other = cluster.other_than(owner);
    const port_reservation nobody;
    cluster.node(owner).connect().command({"CONFIG", "SET", "requirepass", "secret"});
    redis_user user(at({nobody.port(), cluster.node(other).port(), nobody.port()}));
    EXPECT_EQ(user.acquire("door", 0ms).code, errc::access_denied) << user.explain();
    EXPECT_NE(user.explain().find(std::to_string(cluster.node(owner).port())), std::string::npos)
        << user.explain();
}

TEST(RedisCluster, ASearchThatMeetsAnOutageIsOne) {
    const redis_server alone;
    const port_reservation nobody;
    redis_user user(at({alone.port(), nobody.port()}));
    EXPECT_EQ(user.acquire("door", 0ms).code, errc::store_unavailable) << user.explain();
    EXPECT_NE(user.explain().find(std::to_string(nobody.port())), std::string::npos)
        << user.explain();
}

TEST(RedisCluster, IsFollowedByTls) {
    redis_cluster cluster(redis_cluster::replicas::none, speaks_tls_as(shared_tls().server()));
    const auto owner = cluster.owner_of(key_of_store);
    auto config = at({cluster.node(cluster.other_than(owner)).tls_port()});
    config.tls = true;
    config.ca_file = shared_tls().authority();
    redis_user user(config);
    const auto held = user.acquire("door");
    EXPECT_FALSE(held.code) << user.explain();
    auto admin = cluster.node(owner).connect();
    EXPECT_EQ(parties_at(admin, "door"), 1);
}

TEST(RedisCluster, AReplicaThatTakesOverIsFoundAndNobodyElseGetsTheLock) {
    constexpr auto ttl = 10'000ms;
    redis_cluster cluster(redis_cluster::replicas::one_each);
    const auto owner = cluster.owner_of(key_of_store);
    redis_user alice(at({cluster.node(owner).port()}), ttl);
    auto held = alice.acquire("door");
    ASSERT_FALSE(held.code) << alice.explain();
    auto before = cluster.node(owner).connect();
    before.command({"SET", store_key("probe"), "1"});
    EXPECT_EQ(before.command({"WAIT", "1", "10000"}).number, 1) << "it has the lock, too";
    cluster.node(owner).kill();
    const auto next = cluster.wait_for_other_owner(key_of_store, owner);
    redis_user bob(at({cluster.node(owner).port(), cluster.node(next).port()}), ttl);
    EXPECT_EQ(bob.acquire("door", 2s).code, errc::quarantined) << bob.explain();
    EXPECT_TRUE(eventually([&] { return held.held.held(); })) << alice.explain();
    EXPECT_FALSE(alice.release(held.held)) << alice.explain();
}

// A node may have run for long, and have got the slot just now, without its keys.
TEST(RedisCluster, AStoreThatIsNotThereMayHaveBeenAtAnotherNode) {
    redis_cluster cluster;
    const auto owner = cluster.owner_of(key_of_store);
    auto config = at({cluster.node(owner).port()});
    config.assume_new = false;
    config.longest_ttl = 20s;
    EXPECT_TRUE(eventually([&] {
        return std::stoi(cluster.node(owner).connect().info("server")["uptime_in_seconds"]) > 1;
    }));
    redis_user user(config, 600ms);
    const auto first = user.ask("window");
    ASSERT_TRUE(eventually([&] { return user.client().stats().sessions == 1; }));
    EXPECT_EQ(user.acquire("door", 500ms).code, errc::quarantined);
    auto admin = cluster.node(owner).connect();
    const auto tokens = admin.command({"HGET", store_key("s"), "t"}).text;
    const auto until = std::stoll(tokens.substr(tokens.find(' ') + 1));
    const auto time = admin.command({"TIME"});
    EXPECT_GT(until / 1'000'000 - std::stoll(time.at(0).text), 15) << tokens;
}

// A cluster that lacks a slot serves none; a moment later the others have told the node again.
TEST(RedisCluster, ThatServesNobodyForAMomentEndsNoWait) {
    redis_cluster cluster;
    const auto owner = cluster.owner_of(key_of_store);
    redis_user alice(at({cluster.node(owner).port()}), 10s);
    redis_user bob(at({cluster.node(owner).port()}), 10s);
    auto held = alice.acquire("door");
    ASSERT_FALSE(held.code) << alice.explain();
    EXPECT_FALSE(bob.acquire("window").code) << bob.explain();
    auto admin = cluster.node(owner).connect();
    const auto foreign = admin.command({"CLUSTER", "KEYSLOT", "{b}"}).number;
    const auto away = cluster.owner_of("{b}");
    ASSERT_NE(away, owner);
    cluster.node(away).suspend();  // It would tell at once.
    admin.command({"CLUSTER", "DELSLOTS", std::to_string(foreign)});
    auto asked = bob.ask("door");
    EXPECT_TRUE(eventually([&] { return bob.explain().find("CLUSTERDOWN") != std::string::npos; }))
        << bob.explain();
    cluster.node(away).resume();
    EXPECT_TRUE(eventually([&] {
        return !admin.try_command({"TTL", key_of_store}).is_error() &&
               parties_at(admin, "door") == 2;
    })) << bob.explain();
    EXPECT_FALSE(alice.release(held.held)) << alice.explain();
    EXPECT_FALSE(outcome_of(asked).code) << bob.explain();
}

TEST(RedisCluster, IsNamedAsSuchAndNothingElseIs) {
    redis_cluster cluster;
    redis_user plain(cluster.node(0).port());
    EXPECT_EQ(plain.acquire("door", 0ms).code, errc::wrong_server);
    EXPECT_NE(plain.explain().find("redis+cluster://"), std::string::npos) << plain.explain();
    redis_server alone;
    redis_user user(at({alone.port()}));
    EXPECT_EQ(user.acquire("door", 0ms).code, errc::wrong_server);
    EXPECT_NE(user.explain().find("no part of a Redis Cluster"), std::string::npos);
}

}  // namespace
}  // namespace mortise::test::redis_cluster_test
