// SPDX-License-Identifier: BSL-1.0
// An old primary that was cut off and goes on, beside the one that was promoted: its clients get an
// error, and leave it.
#include "support/eventually.hpp"
#include "support/fake_sentinel.hpp"
#include "support/redis_parties.hpp"
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
    RedisPartition() {
        await_acknowledgement(old_);
        auto admin = third_.connect();
        EXPECT_TRUE(eventually([&] {
            const auto report = admin.command({"INFO", "replication"}).text;
            return report.find("master_link_status:up") != std::string::npos;
        }));
    }

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

    /// Whether the user gets the lock at that server. On a busy machine a session may end before
    /// its key is looked at.
    static bool gets_door_at(const redis_server& server, redis_user& user, const std::string& key) {
        bool there = false;
        const auto judge = [&] {
            const acquired got = user.acquire("door", 20s);
            EXPECT_FALSE(got.code) << got.code.message() << ": " << user.explain();
            there = server.connect().command({"EXISTS", key}).number == 1;
            return there || got.code || got.held.held();
        };
        EXPECT_TRUE(eventually(judge));
        return there;
    }

    redis_store_config config(unsigned min_replicas) const {
        redis_store_config config;
        config.sentinels.emplace_back("127.0.0.1", sentinel_.port());
        config.primary_name = fake_sentinel::primary_name;
        config.min_replicas = min_replicas;
        config.assume_new = true;
        config.longest_ttl = ttl;
        return config;
    }

    /// The replica becomes a primary, with its own replica; the old one knows nothing of it.
    void promote() {
        begin_promotion();
        await_acknowledgement(promoted_);
    }
    void begin_promotion() { promoted_.connect().command({"REPLICAOF", "NO", "ONE"}); }

    /// How many clients listen there.
    static std::size_t listeners_at(raw_redis& server) {
        return server.command({"PUBSUB", "CHANNELS", store_key("i:*")}).items.size();
    }

    static constexpr auto ttl = 2'000ms;
    redis_server old_;
    redis_server promoted_{{replica_of(old_)}};
    redis_server third_{{replica_of(promoted_)}};
    fake_sentinel sentinel_{old_.port()};
};

// The second connection was opened again where the address led by then, and the replicas of that
// server vouched for heartbeats of the other one: both sides held, for seconds. To show it, the
// quarantine of the promoted server must begin before the session there ends, and heartbeats must
// be vouched for until that end.
TEST_F(RedisPartition, ReplicasVouchForNothingOfAnotherServer) {
    constexpr auto long_ttl = 2 * ttl;
    auto settings = config(1);
    settings.longest_ttl = long_ttl;
    redis_user behind(settings, long_ttl);
    auto held = patiently(behind, "door");
    ASSERT_FALSE(held.code);
    sentinel_.name_to_newcomers(promoted_.port());  // so that only the second connection moves
    begin_promotion();
    settings.min_replicas = 0;
    redis_user early(settings, long_ttl);
    auto begins = early.ask("window", 20s);
    settings.min_replicas = 1;
    await_acknowledgement(promoted_);
    old_.connect().command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    redis_user before(settings, long_ttl);
    auto asked = before.ask("door", 30s);
    auto admin = promoted_.connect();
    const auto served = [&] { return asked.wait_for(0s) == std::future_status::ready; };
    EXPECT_TRUE(eventually([&] { return served() || listeners_at(admin) == 3; }, 20s));
    if (!served())
        held.held = lease();  // Its client is at the promoted server by now.
    const auto got = outcome_of(asked);
    EXPECT_FALSE(got.code) << got.code.message() << ": " << before.explain();
    EXPECT_LE(held.held.valid_until(), got.at) << "two held it";
    EXPECT_FALSE(outcome_of(begins).code) << early.explain();
}

TEST_F(RedisPartition, WithoutReplicasForATtlTheServerIsLeft) {
    redis_user behind(config(1), ttl);
    ASSERT_FALSE(patiently(behind, "window").code);
    promote();
    sentinel_.name_to_newcomers(promoted_.port());  // so that it leaves by itself, or not at all
    EXPECT_TRUE(gets_door_at(promoted_, behind, store_key("l:door")));
}

// The servers may ask for replicas themselves: then the old one refuses to write.
TEST_F(RedisPartition, AServerThatWritesNothingWithoutReplicasIsLeft) {
    old_.connect().command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    redis_user behind(config(0), ttl);
    ASSERT_FALSE(patiently(behind, "window").code);
    promote();
    sentinel_.name_to_newcomers(promoted_.port());
    EXPECT_TRUE(gets_door_at(promoted_, behind, store_key("l:door")));
}

// In this form no session at the server ends, which would make its client open another.
TEST_F(RedisPartition, AServerThatWritesNothingIsLeftInTheSingleKeyFormToo) {
    old_.connect().command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    auto settings = config(0);
    settings.form = redis_form::single_key;
    settings.assume_new = false;
    redis_user behind(settings, ttl);
    ASSERT_FALSE(patiently(behind, "window").code);
    promote();
    sentinel_.name_to_newcomers(promoted_.port());
    EXPECT_TRUE(gets_door_at(promoted_, behind, "door"));
}

TEST_F(RedisPartition, TheWordOfASentinelIsEnough) {
    redis_user behind(config(0), ttl);
    auto held = behind.acquire("window");
    ASSERT_FALSE(held.code) << behind.explain();
    promote();
    sentinel_.announce(promoted_.port());
    auto promoted = promoted_.connect();
    EXPECT_TRUE(eventually([&] { return listeners_at(promoted) == 1; })) << "it listens there";
    EXPECT_FALSE(behind.acquire("door", 20s).code) << behind.explain();
    EXPECT_TRUE(held.held.held()) << "the replica knew of it, and it was proved in time";
}

}  // namespace
}  // namespace mortise::test::redis_partition_test
