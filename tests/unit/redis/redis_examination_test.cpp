// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_examination.hpp"
#include "support/findings.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::store_detail::redis_examination_test {
namespace {

using verdict = store_finding::verdict;

redis_examination of_a_good_server() {
    redis_examination at;
    at.name = "h:6379";
    at.facts.known = true;
    at.facts.version = "7.0.15";
    at.facts.eviction_policy = "noeviction";
    at.facts.append_only = true;
    at.facts.append_fsync = "always";
    at.facts.fsync_stops_on_rewrite = false;
    at.facts.flush_is_heard = true;
    at.has_session = true;
    at.sessions = 3;
    at.locks = 5;
    return at;
}

store_finding found(const redis_examination& at, const std::string& subject) {
    return test::finding_of(at.findings(), subject);
}

verdict verdict_after(auto change, const std::string& subject) {
    auto at = of_a_good_server();
    change(at);
    return found(at, subject).judgement;
}

TEST(RedisExamination, FindsNothingWrongWithAGoodServer) {
    const auto all = of_a_good_server().findings();
    EXPECT_EQ(all.size(), 7u);
    for (const auto& each : all)
        EXPECT_EQ(each.judgement, verdict::holds) << each.subject << ": " << each.found;
    const auto sessions = found(of_a_good_server(), "sessions").found;
    EXPECT_NE(sessions.find('3'), std::string::npos);
    EXPECT_NE(sessions.find('5'), std::string::npos);
}

TEST(RedisExamination, OfTheSingleKeyFormSaysWhatItDoesNotPromise) {
    auto at = of_a_good_server();
    at.single_key = true;
    EXPECT_EQ(found(at, "form").judgement, verdict::weak);
    EXPECT_EQ(found(at, "tokens").judgement, verdict::holds);
    at.tokens = false;
    EXPECT_EQ(found(at, "tokens").judgement, verdict::weak);
    EXPECT_EQ(found(at, "flush").judgement, verdict::holds);
    EXPECT_EQ(found(at, "memory").judgement, verdict::holds);
    at.facts.replicas = 1;
    EXPECT_EQ(found(at, "fail-over").judgement, verdict::weak);
}

TEST(RedisExamination, FindsAServerBrokenThatCannotBeUsed) {
    auto at = of_a_good_server();
    at.facts.primary = false;
    const auto replica = found(at, "server");
    EXPECT_EQ(replica.judgement, verdict::broken);
    EXPECT_NE(replica.found.find("h:6379"), std::string::npos);
    EXPECT_NE(replica.found.find("name the primary"), std::string::npos) << replica.found;
    EXPECT_EQ(
        verdict_after([](auto& each) { each.facts.version = "5.0"; }, "server"), verdict::broken
    );
}

TEST(RedisExamination, FindsMemoryWeakThatIsNotSurelyKept) {
    for (const char* policy : {"", "allkeys-lru"}) {
        const auto change = [&](auto& each) { each.facts.eviction_policy = policy; };
        EXPECT_EQ(verdict_after(change, "memory"), verdict::weak) << policy;
        EXPECT_EQ(verdict_after(change, "tokens"), verdict::weak) << policy;
        EXPECT_EQ(verdict_after(change, "server"), verdict::holds) << policy;
    }
}

TEST(RedisExamination, FindsDurabilityWeakWhereAChangeMayBeUndone) {
    const auto weak = [](auto change) {
        return verdict_after(change, "durability") == verdict::weak &&
               verdict_after(change, "tokens") == verdict::weak;
    };
    EXPECT_TRUE(weak([](auto& each) { each.facts.append_only = false; }));
    EXPECT_TRUE(weak([](auto& each) { each.facts.append_fsync = "everysec"; }));
    EXPECT_TRUE(weak([](auto& each) { each.facts.append_fsync = ""; }));
    EXPECT_TRUE(weak([](auto& each) { each.facts.fsync_stops_on_rewrite = true; }));
    EXPECT_TRUE(weak([](auto& each) { each.facts.fsync_stops_on_rewrite.reset(); }));
}

TEST(RedisExamination, FindsFailOversWeakUnlessEachReplicaIsWaitedFor) {
    const auto of = [](std::uint64_t replicas, unsigned waits, bool sentinels) {
        return verdict_after(
            [=](auto& each) {
                each.facts.replicas = replicas;
                each.min_replicas = waits;
                each.fails_over = sentinels;
            },
            "fail-over"
        );
    };
    EXPECT_EQ(of(2, 0, false), verdict::weak);
    EXPECT_EQ(of(2, 1, true), verdict::weak);
    EXPECT_EQ(of(2, 2, true), verdict::holds);
    EXPECT_EQ(of(0, 0, true), verdict::weak) << "sentinels without a replica wait for one";
    EXPECT_EQ(of(0, 0, false), verdict::holds);
}

TEST(RedisExamination, FindsAServerWeakThatTellsNothing) {
    auto at = of_a_good_server();
    at.facts = server_facts();
    for (const char* subject : {"server", "memory", "durability", "tokens", "fail-over", "flush"})
        EXPECT_EQ(found(at, subject).judgement, verdict::weak) << subject;
}

TEST(RedisExamination, AsksForWhatEndsAPrimaryThatIsCutOff) {
    const auto of = [](unsigned waits, const std::string& to_write) {
        return verdict_after(
            [=](auto& each) {
                each.facts.replicas = 2;
                each.min_replicas = waits;
                each.facts.replicas_to_write = to_write;
            },
            "partition"
        );
    };
    EXPECT_EQ(of(0, "0"), verdict::weak);
    EXPECT_EQ(of(0, ""), verdict::weak) << "it may not be read";
    EXPECT_EQ(of(0, "1"), verdict::holds);
    EXPECT_EQ(of(1, "0"), verdict::holds);
}

TEST(RedisExamination, SpeaksOfFlushesOnlyIfThatWasTried) {
    const auto change = [](auto& each) { each.facts.flush_is_heard = false; };
    EXPECT_EQ(verdict_after(change, "flush"), verdict::weak);
    auto at = of_a_good_server();
    at.has_session = false;
    EXPECT_EQ(at.findings().size(), 6u);
}

TEST(RedisExamination, FindsTheLongestTtlWeakIfTheStoreKnowsOfALongerOne) {
    auto at = of_a_good_server();
    at.longest_ttl = at.remembered_ttl = std::chrono::milliseconds(5'000);
    EXPECT_EQ(at.findings().size(), 7u);
    at.remembered_ttl = std::chrono::milliseconds(20'000);
    const auto longest = found(at, "longest TTL");
    EXPECT_EQ(longest.judgement, verdict::weak);
    EXPECT_NE(longest.found.find("20000 ms"), std::string::npos) << longest.found;
    EXPECT_NE(longest.found.find("5000 ms"), std::string::npos) << longest.found;
}

}  // namespace
}  // namespace mortise::store_detail::redis_examination_test
