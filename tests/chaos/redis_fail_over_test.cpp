// SPDX-License-Identifier: BSL-1.0
// A primary dies while a lock is held and others wait. Its sentinels promote a replica.
#include "support/eventually.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_user.hpp"
#include "support/sentinel_set.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class RedisFailOver : public testing::Test {
protected:
    redis_store_config config(unsigned min_replicas, std::chrono::milliseconds ttl) {
        redis_store_config config;
        for (const auto port : set_.sentinel_ports())
            config.sentinels.emplace_back("127.0.0.1", port);
        config.primary_name = sentinel_set::name;
        config.min_replicas = min_replicas;
        config.assume_new = true;
        config.longest_ttl = ttl;
        return config;
    }

    void begin(unsigned min_replicas, std::chrono::milliseconds ttl) {
        holder_.emplace(config(min_replicas, ttl), ttl);
        waiter_.emplace(config(min_replicas, ttl), ttl);
        first_ = holder_->acquire("door");
        ASSERT_FALSE(first_.code) << first_.code.message() << ": " << holder_->explain();
        asked_ = waiter_->ask("door", 40s);
        auto admin = set_.primary()->connect();
        ASSERT_TRUE(eventually([&] { return parties_at(admin, "door") == 2; }));
        ASSERT_EQ(admin.command({"WAIT", "2", "10000"}).number, 2);
    }

    sentinel_set set_;
    std::optional<redis_user> holder_;
    std::optional<redis_user> waiter_;
    acquired first_;
    std::future<acquired> asked_;
};

TEST_F(RedisFailOver, TheLeaseEndsBeforeTheWaiterIsServedByTheNewPrimary) {
    begin(0, 1'000ms);
    redis_server& old = set_.kill_primary();
    const auto killed = clock::now();
    set_.wait_for_new_primary(old);
    auto second = outcome_of(asked_);
    ASSERT_FALSE(second.code) << second.code.message() << ": " << waiter_->explain();
    EXPECT_GE(second.at, killed + 1'000ms) << "there is a quarantine";
    EXPECT_FALSE(first_.held.held()) << "two hold it";
    EXPECT_LE(first_.held.valid_until(), second.at) << "two held it";
    EXPECT_GT(second.held.token().value, first_.held.token().value);
    EXPECT_TRUE(eventually([&] { return first_.held.state() == lease_state::lost; }));
    EXPECT_FALSE(waiter_->release(second.held));
    auto third = holder_->acquire("door");
    ASSERT_FALSE(third.code) << third.code.message() << ": " << holder_->explain();
}

TEST_F(RedisFailOver, APromotedReplicaKnowsTheHolderIfAllOfThemHadTheGrant) {
    begin(2, 8'000ms);
    redis_server& old = set_.kill_primary();
    set_.wait_for_new_primary(old);
    // One replica is missing now: heartbeats count again when the old server is back.
    old.start();
    EXPECT_TRUE(
        eventually([&] { return first_.held.held() && first_.held.verified_ago() < 1s; }, 30s)
    ) << to_string(first_.held.state())
      << ": " << holder_->explain();
    EXPECT_NE(asked_.wait_for(0s), std::future_status::ready);
    const auto token = first_.held.token().value;
    EXPECT_FALSE(holder_->release(first_.held));
    auto second = outcome_of(asked_);
    ASSERT_FALSE(second.code) << second.code.message() << ": " << waiter_->explain();
    EXPECT_GT(second.held.token().value, token);
}

TEST_F(RedisFailOver, WithoutItsReplicasNothingCountsAndNothingIsLostWhenTheyAreBackInTime) {
    begin(2, 6'000ms);
    set_.server(1).suspend();
    const auto got = holder_->acquire("window", 1s);
    EXPECT_EQ(got.code, errc::not_enough_replicas) << got.code.message();
    EXPECT_NE(holder_->explain().find("min_replicas"), std::string::npos) << holder_->explain();
    set_.server(1).resume();
    EXPECT_TRUE(
        eventually([&] { return first_.held.held() && first_.held.verified_ago() < 500ms; }, 10s)
    );
    EXPECT_TRUE(eventually([&] { return !holder_->acquire("window", 5s).code; }, 20s))
        << holder_->explain();
}

}  // namespace
}  // namespace mortise::test
