// SPDX-License-Identifier: BSL-1.0
// An old primary that was cut off and goes on, beside the one that was promoted: what its clients
// are told, and that they leave it.
#include "support/eventually.hpp"
#include "support/fake_sentinel.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace mortise::test::redis_partition_test {
namespace {

using namespace std::chrono_literals;

class RedisPartition : public testing::Test {
protected:
    RedisPartition() { await_acknowledgement(old_); }

    /// A replica of that server answers within the time in which it is waited for.
    static void await_acknowledgement(const redis_server& of) {
        auto admin = of.connect();
        EXPECT_TRUE(eventually([&] {
            admin.command({"SET", "probe", "1"});
            return admin.command({"WAIT", "1", "500"}).number == 1;
        }));
    }

    /// On a busy machine a replica may be late.
    static acquired patiently(redis_user& user, const std::string& name) {
        acquired got;
        EXPECT_TRUE(eventually(
            [&] {
                got = user.acquire(name, 10s);
                return got.code != errc::not_enough_replicas;
            },
            20s
        ));
        EXPECT_FALSE(got.code) << got.code.message() << ": " << user.explain();
        return got;
    }

    redis_store_config config(unsigned min_replicas) const {
        redis_store_config made;
        made.sentinels.emplace_back("127.0.0.1", sentinel_.port());
        made.primary_name = fake_sentinel::primary_name;
        made.min_replicas = min_replicas;
        made.assume_new = true;
        made.longest_ttl = ttl;
        return made;
    }

    /// The replica becomes a primary with a replica of its own; the old one knows nothing of it.
    void promote() {
        promoted_.connect().command({"REPLICAOF", "NO", "ONE"});
        third_.connect().command({"REPLICAOF", "127.0.0.1", std::to_string(promoted_.port())});
        await_acknowledgement(promoted_);
    }

    static constexpr auto ttl = 2'000ms;
    redis_server old_;
    redis_server promoted_{{replica_of(old_)}};
    redis_server third_;
    fake_sentinel sentinel_{old_.port()};
};

// The second connection was opened again where the address led by then, and the replicas of that
// server vouched for heartbeats of the other one: both sides held, for seconds.
TEST_F(RedisPartition, ReplicasVouchForNothingOfAnotherServer) {
    redis_user behind(config(1), ttl);
    auto held = patiently(behind, "door");
    ASSERT_FALSE(held.code);
    promote();
    sentinel_.name(promoted_.port());
    old_.connect().command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    redis_user before(config(1), ttl);
    auto asked = before.ask("door", 20s);
    if (asked.wait_for(3 * ttl) == std::future_status::timeout)
        held.held = lease();  // It was proved at the promoted server.
    const auto got = outcome_of(asked);
    if (got.code) {
        held.held = lease();
        EXPECT_FALSE(patiently(before, "door").code);
    } else {
        EXPECT_LE(held.held.valid_until(), got.at) << "two held it";
    }
}

TEST_F(RedisPartition, WithoutReplicasForATtlTheServerIsLeft) {
    redis_user behind(config(1), ttl);
    ASSERT_FALSE(patiently(behind, "window").code);
    promote();
    sentinel_.name_to_newcomers(promoted_.port());  // so that it leaves by itself, or not at all
    acquired got;
    EXPECT_TRUE(eventually(
        [&] {
            got = behind.acquire("door", 1s);
            return !got.code;
        },
        15s
    )) << behind.explain();
    EXPECT_EQ(promoted_.connect().command({"EXISTS", "mortise:l:door"}).number, 1);
}

TEST_F(RedisPartition, TheWordOfASentinelIsEnough) {
    redis_user behind(config(0), ttl);
    auto held = behind.acquire("window");
    ASSERT_FALSE(held.code) << behind.explain();
    promote();
    sentinel_.announce(promoted_.port());
    auto promoted = promoted_.connect();
    EXPECT_TRUE(eventually([&] {
        return promoted.command({"PUBSUB", "CHANNELS", "mortise:i:*"}).items.size() == 1;
    })) << "it listens there";
    EXPECT_TRUE(held.held.held()) << "the replica knew of it, and it is proved in time";
    EXPECT_FALSE(behind.acquire("door", 20s).code) << behind.explain();
}

}  // namespace
}  // namespace mortise::test::redis_partition_test
