// SPDX-License-Identifier: BSL-1.0
// A store that is spread over a real cluster, while slots move and nodes die: what happens at one
// node concerns the locks that lie there, and no others.
#include "store/redis/lock_buckets.hpp"
#include "support/eventually.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_user.hpp"
#include "support/tls_material.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <tuple>
#include <vector>

namespace mortise::test::bucketed_cluster_test {
namespace {

using namespace std::chrono_literals;

std::string key_in_bucket_of(const std::string& name, const std::string& key) {
    const store_detail::lock_buckets buckets("mortise:", 64);
    return '{' + buckets.tag(buckets.of(name)) + '}' + key;
}

redis_store_config at(redis_cluster& cluster, std::size_t node) {
    redis_store_config config;
    config.cluster.emplace_back("127.0.0.1", cluster.node(node).port());
    config.assume_new = true;
    config.longest_ttl = redis_user::usual_ttl;
    return config;
}

/// The name of a lock that lies at that node.
std::string lock_at(redis_cluster& cluster, std::size_t node, std::string name = "door") {
    while (cluster.owner_of(key_in_bucket_of(name, "s")) != node)
        name += '!';
    return name;
}

TEST(BucketedCluster, AShardThatFailsOverConcernsNoLeaseOfTheOthers) {
    constexpr auto ttl = 12'000ms;
    redis_cluster cluster(redis_cluster::replicas::one_each);
    auto config = at(cluster, 1);
    config.longest_ttl = ttl;
    redis_user alice(config, ttl);
    std::vector<acquired> healthy;
    for (const std::size_t node : {1u, 2u}) {
        healthy.push_back(alice.acquire(lock_at(cluster, node)));
        ASSERT_FALSE(healthy.back().code) << alice.explain();
    }
    const std::string name = lock_at(cluster, 0);
    auto held = alice.acquire(name);
    ASSERT_FALSE(held.code) << alice.explain();
    const std::string key = key_in_bucket_of(name, "s");
    auto before = cluster.node(0).connect();
    before.command({"SET", key_in_bucket_of(name, "probe"), "1"});
    EXPECT_EQ(before.command({"WAIT", "1", "10000"}).number, 1) << "it has the lock, too";

    cluster.node(0).kill();
    const auto next = cluster.wait_for_other_owner(key, 0);
    for (const auto& each : healthy)
        EXPECT_TRUE(each.held.held()) << alice.explain();
    redis_user bob(at(cluster, 2), ttl);
    EXPECT_EQ(bob.acquire(name, 2s).code, errc::quarantined) << bob.explain();
    EXPECT_EQ(bob.acquire(std::string(healthy[0].held.name()), 0ms).code, errc::busy)
        << bob.explain();
    EXPECT_FALSE(bob.acquire(lock_at(cluster, 2, "free")).code) << bob.explain();
    EXPECT_TRUE(eventually([&] { return held.held.held(); })) << alice.explain();
    EXPECT_EQ(cluster.owner_of(key), next);
    EXPECT_FALSE(alice.release(held.held)) << alice.explain();
    for (auto& each : healthy)
        EXPECT_FALSE(alice.release(each.held)) << alice.explain();
}

// The cut-off one has no replica: its locks are gone with it, and the others go on.
TEST(BucketedCluster, AShardThatStaysAwayTakesItsOwnLeasesOnly) {
    constexpr auto ttl = 3'000ms;
    redis_cluster cluster(redis_cluster::replicas::none, {"cluster-require-full-coverage no"});
    redis_user alice(at(cluster, 1), ttl);
    const auto healthy = alice.acquire(lock_at(cluster, 1));
    const auto doomed = alice.acquire(lock_at(cluster, 0));
    const std::string other = lock_at(cluster, 2, "other");
    ASSERT_TRUE(healthy.held.held() && doomed.held.held()) << alice.explain();
    cluster.node(0).kill();
    EXPECT_TRUE(eventually([&] { return !doomed.held.held(); }));
    EXPECT_TRUE(healthy.held.held());
    const auto begun = clock::now();
    while (clock::now() < begun + ttl) {
        auto more = alice.acquire(other, 5s);
        EXPECT_FALSE(more.code) << alice.explain();
        EXPECT_FALSE(alice.release(more.held));
    }
    EXPECT_TRUE(healthy.held.held());
}

TEST(BucketedCluster, ANodeThatIsSilentHoldsUpNobodyAtTheOthers) {
    constexpr auto ttl = 3'000ms;
    redis_cluster cluster(redis_cluster::replicas::none, {"cluster-require-full-coverage no"});
    redis_user alice(at(cluster, 1), ttl);
    const auto healthy = alice.acquire(lock_at(cluster, 1));
    const auto stuck = alice.acquire(lock_at(cluster, 0));
    const std::string other = lock_at(cluster, 1, "other");
    const std::string again = lock_at(cluster, 0, "again");
    ASSERT_TRUE(healthy.held.held() && stuck.held.held()) << alice.explain();
    cluster.node(0).suspend();
    while (stuck.held.held()) {
        auto more = alice.acquire(other, 5s);
        EXPECT_FALSE(more.code) << alice.explain();
        EXPECT_FALSE(alice.release(more.held));
    }
    EXPECT_TRUE(healthy.held.held());
    cluster.node(0).resume();
    EXPECT_TRUE(eventually([&] { return !alice.acquire(again, 1s).code; })) << alice.explain();
    EXPECT_TRUE(healthy.held.held());
}

// It has no session there whose loss would be told.
TEST(BucketedCluster, AWatcherWatchesAgainOnceASilentNodeAnswers) {
    constexpr auto ttl = 3'000ms;
    redis_cluster cluster(redis_cluster::replicas::none, {"cluster-require-full-coverage no"});
    auto config = at(cluster, 1);
    config.longest_ttl = ttl;
    config.connect_max = 700ms;
    redis_user watcher(config, ttl);
    redis_user alice(at(cluster, 1), ttl);
    const auto watch = [&] {
        return watcher.client().async_watch(asio::as_tuple(asio::use_future));
    };
    const auto lasts = [](auto& notice) {
        return notice.wait_for(1s) == std::future_status::timeout;
    };
    const auto home = cluster.owner_of("{mortise:{0}s");
    const auto silent = cluster.other_than(home);
    auto notice = watch();
    EXPECT_TRUE(eventually([&] { return lasts(notice) || (notice = watch(), false); }));
    cluster.node(silent).suspend();
    EXPECT_EQ(notice.wait_for(20s), std::future_status::ready) << "what it missed is not known";
    notice = watch();
    ASSERT_EQ(notice.wait_for(20s), std::future_status::ready);
    EXPECT_EQ(std::get<0>(notice.get()), errc::store_unavailable) << watcher.explain();
    cluster.node(silent).resume();
    notice = watch();
    EXPECT_TRUE(eventually([&] { return lasts(notice) || (notice = watch(), false); }))
        << watcher.explain();
    EXPECT_FALSE(alice.acquire(lock_at(cluster, silent)).code) << alice.explain();
    ASSERT_EQ(notice.wait_for(20s), std::future_status::ready);
    EXPECT_FALSE(std::get<0>(notice.get()));
}

TEST(BucketedCluster, ASlotThatMovesIsFollowedWithItsLocksAndTokensGrow) {
    constexpr auto ttl = 4'000ms;
    redis_cluster cluster;
    redis_user alice(at(cluster, 0), ttl);
    redis_user bob(at(cluster, 2), ttl);
    const std::string name = lock_at(cluster, 0);
    const std::string key = key_in_bucket_of(name, "s");
    auto held = alice.acquire(name);
    auto other = alice.acquire(lock_at(cluster, 0, "window"));
    ASSERT_TRUE(held.held.held() && other.held.held()) << alice.explain();
    std::uint64_t last = held.held.token().value;
    for (const std::size_t next : {1u, 0u}) {
        auto asked = bob.ask(name);
        EXPECT_TRUE(eventually([&] { return held.held.contended(); })) << bob.explain();
        cluster.begin_to_move(key, next);
        cluster.end_moving(key, next);
        EXPECT_EQ(cluster.owner_of(key), next);
        EXPECT_TRUE(other.held.held()) << "it has not moved";
        EXPECT_TRUE(eventually([&] { return held.held.held(); })) << alice.explain();
        EXPECT_FALSE(alice.release(held.held)) << alice.explain();
        auto got = outcome_of(asked);
        ASSERT_FALSE(got.code) << bob.explain();
        EXPECT_GT(got.held.token().value, last);
        EXPECT_FALSE(bob.release(got.held)) << bob.explain();
        held = alice.acquire(name);
        ASSERT_FALSE(held.code) << alice.explain();
        EXPECT_GT(held.held.token().value, got.held.token().value);
        last = held.held.token().value;
    }
}

// While a slot is on its way its locks wait, and those of the same node go on.
TEST(BucketedCluster, ASlotThatIsBeingMovedHoldsUpItsOwnLocksOnly) {
    constexpr auto ttl = 4'000ms;
    redis_cluster cluster;
    redis_user alice(at(cluster, 0), ttl);
    const std::string name = lock_at(cluster, 0);
    const std::string other = lock_at(cluster, 0, "window");
    const std::string key = key_in_bucket_of(name, "s");
    EXPECT_FALSE(alice.acquire(name).code) << alice.explain();
    EXPECT_FALSE(alice.acquire(other).code) << alice.explain();
    cluster.begin_to_move(key, 1);
    auto asked = alice.ask(name);
    EXPECT_TRUE(eventually([&] {
        const auto text = alice.explain();
        return text.find("TRYAGAIN") != std::string::npos || text.find("ASK") != std::string::npos;
    })) << alice.explain();
    for (int i = 0; i < 20; ++i) {
        auto more = alice.acquire(other, 5s);
        EXPECT_FALSE(more.code) << alice.explain();
        EXPECT_FALSE(alice.release(more.held));
    }
    cluster.end_moving(key, 1);
    EXPECT_FALSE(outcome_of(asked).code) << alice.explain();
}

TEST(BucketedCluster, GrantsWaitForReplicas) {
    constexpr auto ttl = 10'000ms;
    redis_cluster cluster(redis_cluster::replicas::one_each);
    auto config = at(cluster, 0);
    config.min_replicas = 1;
    redis_user alice(config, ttl);
    for (const std::size_t node : {0u, 1u, 2u}) {
        const auto name = lock_at(cluster, node);
        auto held = alice.acquire(name);
        ASSERT_FALSE(held.code) << alice.explain();
        auto replica = cluster.node(node + redis_cluster::primaries).connect();
        replica.command({"READONLY"});
        EXPECT_FALSE(replica.command({"GET", key_in_bucket_of(name, "l:" + name)}).text.empty());
        EXPECT_FALSE(alice.release(held.held)) << alice.explain();
    }
    config.min_replicas = 2;
    redis_user bob(config, 900ms);
    EXPECT_EQ(bob.acquire("door", 0ms).code, errc::not_enough_replicas) << bob.explain();
}

TEST(BucketedCluster, IsReachedByTls) {
    redis_cluster cluster(redis_cluster::replicas::none, speaks_tls_as(shared_tls().server()));
    auto config = at(cluster, 0);
    config.cluster.front().port = cluster.node(0).tls_port();
    config.tls = true;
    config.ca_file = shared_tls().authority();
    redis_user user(config, 10s);
    for (const std::size_t node : {0u, 1u, 2u})
        EXPECT_FALSE(user.acquire(lock_at(cluster, node)).code) << user.explain();
}

// By the rights in docs/stores/redis.md, and with less.
TEST(BucketedCluster, AUserNeedsTheRightsThatTheDocumentationNames) {
    redis_cluster cluster;
    const auto set_user = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{
            "ACL",         "SETUSER",      "shop",         "reset",          "on",
            ">secret",     "~{mortise:}*", "~{mortise:{*", "&{mortise:{*",   "+@hash",
            "+@sortedset", "+@set",        "+@list",       "+get",           "+set",
            "+getset",     "+del",         "+exists",      "+time",          "+eval",
            "+evalsha",    "+publish",     "+subscribe",   "+info",          "+hello",
            "+auth",       "+select",      "+ping",        "+client|setname"};
        words.insert(words.end(), more.begin(), more.end());
        for (std::size_t i = 0; i < cluster.size(); ++i)
            cluster.node(i).connect().command(words);
    };
    auto config = at(cluster, 0);
    config.user = "shop";
    config.password = "secret";
    const auto acquire = [&] {
        redis_user user(config, 5s);
        auto held = user.acquire("door", 0ms);
        const std::string text = user.explain();
        return std::pair(held.code, text);
    };
    set_user({"+ssubscribe"});
    auto [no_publish, publishing] = acquire();
    EXPECT_EQ(no_publish, errc::access_denied) << publishing;
    EXPECT_NE(publishing.find("docs/stores/redis.md"), std::string::npos) << publishing;
    set_user({"+spublish"});
    auto [no_subscribe, subscribing] = acquire();
    EXPECT_EQ(no_subscribe, errc::access_denied) << subscribing;
    EXPECT_NE(subscribing.find("ssubscribe"), std::string::npos) << subscribing;
    // Without CONFIG, CLIENT TRACKING, SCRIPT, CLUSTER.
    set_user({"+ssubscribe", "+spublish"});
    auto [enough, text] = acquire();
    EXPECT_FALSE(enough) << text;
}

// Servers before version 7, by the names of their commands.
TEST(BucketedCluster, WithoutChannelsOfASlotTheUsualOnesServe) {
    redis_cluster cluster(
        redis_cluster::replicas::none,
        {"rename-command SSUBSCRIBE \"\"", "rename-command SPUBLISH \"\""}
    );
    redis_user alice(at(cluster, 0), 30s);
    redis_user bob(at(cluster, 0), 30s);
    auto held = alice.acquire("door");
    ASSERT_FALSE(held.code) << alice.explain();
    auto asked = bob.ask("door");
    EXPECT_TRUE(eventually([&] { return held.held.contended(); }, 9s)) << "told by a message";
    EXPECT_FALSE(alice.release(held.held));
    EXPECT_FALSE(outcome_of(asked).code) << bob.explain();
}

}  // namespace
}  // namespace mortise::test::bucketed_cluster_test
