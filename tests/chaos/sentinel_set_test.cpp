// SPDX-License-Identifier: BSL-1.0
#include "support/eventually.hpp"
#include "support/sentinel_set.hpp"

#include <gtest/gtest.h>

#include <string>
#include <system_error>

namespace mortise::test::sentinel_set_test {

// Whether the replica follows the primary. A server that is told to follow another one ends the
// connections of its clients.
bool follows(const redis_server& replica, const redis_server& primary) {
    try {
        const auto now = replica.connect().info("replication");
        return now.at("role") == "slave" &&
               now.at("master_port") == std::to_string(primary.port()) &&
               now.at("master_link_status") == "up";
    } catch (const std::system_error&) {
        return false;
    }
}

TEST(SentinelSet, PromotesAReplicaWhenThePrimaryDies) {
    sentinel_set set;
    EXPECT_EQ(set.primary(), &set.server(0));
    raw_redis redis = set.server(0).connect();
    redis.command({"SET", "k", "v"});
    EXPECT_EQ(redis.command({"WAIT", "2", "10000"}).number, 2);
    redis_server& old = set.kill_primary();
    EXPECT_EQ(&old, &set.server(0));
    redis_server& promoted = set.wait_for_new_primary(old);
    EXPECT_TRUE(promoted.connect().command({"GET", "k"}).is("v"));
    promoted.connect().command({"SET", "k", "w"});
    old.start();
    EXPECT_TRUE(eventually([&] { return follows(old, promoted); })) << set.sentinel(0).log();
}

TEST(SentinelSet, HandsOverWhenItIsAskedTo) {
    sentinel_set set;
    redis_server& old = *set.primary();
    set.failover();
    redis_server& promoted = set.wait_for_new_primary(old);
    EXPECT_TRUE(eventually([&] { return follows(old, promoted); })) << set.sentinel(0).log();
}

}  // namespace mortise::test::sentinel_set_test
