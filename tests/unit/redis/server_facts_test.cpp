// SPDX-License-Identifier: BSL-1.0
#include "store/redis/server_facts.hpp"
#include "unit/redis/reply_samples.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::store_detail::server_facts_test {
namespace {

const accepted_risks careful;

accepted_risks reckless() {
    accepted_risks all;
    all.eviction = all.unseen_restarts = true;
    return all;
}

using test::error_reply;
using test::number_reply;
using test::texts_reply;

const std::string info_report = "# Server\r\nredis_version:7.2.4\r\n\r\n# Memory\r\n"
                                "maxmemory_policy:noeviction\r\n# Persistence\r\naof_enabled:1\r\n"
                                "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n";

server_facts strict_facts() {
    server_facts facts;
    facts.read_info(info_report);
    facts.read_config(texts_reply({"appendfsync", "always", "no-appendfsync-on-rewrite", "no"}));
    return facts;
}

TEST(ServerFacts, AreReadFromAReport) {
    server_facts facts;
    facts.read_info(info_report);
    EXPECT_EQ(facts.version, "7.2.4");
    EXPECT_EQ(facts.eviction_policy, "noeviction");
    EXPECT_TRUE(facts.append_only);
    EXPECT_TRUE(facts.primary);
    EXPECT_EQ(facts.replicas, 0u);
}

TEST(ServerFacts, AreReadWithAnyEndsOfLines) {
    server_facts facts;
    facts.read_info("redis_version:6.0\nrole:slave\nconnected_slaves:12\nmaxmemory_policy:lfu");
    EXPECT_EQ(facts.version, "6.0");
    EXPECT_EQ(facts.eviction_policy, "lfu");
    EXPECT_FALSE(facts.primary);
    EXPECT_EQ(facts.replicas, 12u);
}

TEST(ServerFacts, StayAsTheyAreWhereNothingIsTold) {
    for (const std::string text :
         {"", "\r\n", "\n\n:", "role", "\rrole:slave", " role:slave", "roles:slave\r\nrol:slave"}) {
        server_facts facts;
        facts.read_info(text);
        EXPECT_EQ(facts.version, "");
        EXPECT_EQ(facts.eviction_policy, "");
        EXPECT_FALSE(facts.append_only);
        EXPECT_TRUE(facts.primary) << text;
        EXPECT_FALSE(facts.judge(careful, true).code) << "what is not told is not held against it";
        EXPECT_EQ(facts.strength(), token_strength::durable_if_configured);
    }
}

TEST(ServerFacts, SurviveAReportThatIsCutAnywhere) {
    for (std::size_t at = 0; at <= info_report.size(); ++at) {
        server_facts facts;
        facts.read_info(info_report.substr(0, at));
        facts.read_info(info_report.substr(at));
        EXPECT_LE(facts.version.size(), 5u);
    }
}

TEST(ServerFacts, CountNoReplicasThatAreNoNumber) {
    server_facts facts;
    facts.read_info("connected_slaves:-1\r\n");
    EXPECT_EQ(facts.replicas, 0u);
    facts.read_info("connected_slaves:99999999999999999999\r\n");
    EXPECT_EQ(facts.replicas, 0u);
}

TEST(ServerFacts, AreStrictOnlyWhereNothingIsEverForgotten) {
    EXPECT_EQ(strict_facts().strength(), token_strength::strict);
    const auto weaker = [](auto change) {
        server_facts facts = strict_facts();
        change(facts);
        return facts.strength() == token_strength::durable_if_configured;
    };
    EXPECT_TRUE(weaker([](server_facts& at) { at.append_only = false; }));
    EXPECT_TRUE(weaker([](server_facts& at) { at.append_fsync = "everysec"; }));
    EXPECT_TRUE(weaker([](server_facts& at) { at.append_fsync = ""; }));
    EXPECT_TRUE(weaker([](server_facts& at) { at.fsync_stops_on_rewrite = true; }));
    EXPECT_TRUE(weaker([](server_facts& at) { at.fsync_stops_on_rewrite.reset(); }));
    EXPECT_TRUE(weaker([](server_facts& at) { at.eviction_policy = "allkeys-lru"; }));
    EXPECT_TRUE(weaker([](server_facts& at) { at.eviction_policy = ""; }));
    EXPECT_TRUE(weaker([](server_facts& at) { at.primary = false; }));
    EXPECT_TRUE(weaker([](server_facts& at) { at.replicas = 1; }));
}

TEST(ServerFacts, AreNotReadFromAnythingButPairs) {
    server_facts facts;
    facts.read_config(redis_value());
    facts.read_config(number_reply(1));
    facts.read_config(texts_reply({"appendfsync"}));
    facts.read_config(texts_reply({"other", "appendfsync", "x", "y", "no-appendfsync-on-rewrite"}));
    EXPECT_EQ(facts.append_fsync, "");
    EXPECT_FALSE(facts.fsync_stops_on_rewrite);
}

TEST(ServerFacts, ThatAreNotToldAreNoGoodNews) {
    const server_facts silent;
    EXPECT_EQ(silent.judge(careful, false).code, errc::unsafe_server);
    EXPECT_FALSE(silent.judge(reckless(), false).code);
    EXPECT_FALSE(silent.judge(careful, true).code) << "that form notices no restart anyway";
}

TEST(ServerFacts, AreNotHiddenByAServerThatCannotAnswerNow) {
    server_facts facts;
    const auto of = [&](const char* error) { return facts.read_answer(error_reply(error)).code; };
    EXPECT_EQ(of("LOADING Redis is loading the dataset in memory"), errc::server_loading);
    EXPECT_EQ(of("BUSY Redis is busy running a script"), errc::server_busy);
    EXPECT_EQ(facts.read_answer(error_code(errc::outcome_unknown)).code, errc::store_unavailable);
    EXPECT_FALSE(of("NOPERM this user has no permissions to run the 'info' command"));
    EXPECT_FALSE(of("ERR unknown command 'INFO'"));
    EXPECT_FALSE(facts.known);
}

TEST(ServerFacts, TellWhetherAServerCanBeUsed) {
    EXPECT_FALSE(strict_facts().judge(careful, true).code);
    server_facts facts = strict_facts();
    for (const char* old : {"5.0.14", "2.8", "unknown"}) {
        facts.version = old;
        EXPECT_EQ(facts.judge(reckless(), true).code, errc::wrong_server) << old;
    }
    for (const char* good : {"6", "6.0.16", "7.4.0", "10.1", "255.255.255"}) {
        facts.version = good;
        EXPECT_FALSE(facts.judge(careful, true).code) << good;
    }
    facts.eviction_policy = "volatile-ttl";
    EXPECT_EQ(facts.judge(careful, true).code, errc::unsafe_server);
    EXPECT_NE(facts.judge(careful, true).text.find("volatile-ttl"), std::string::npos);
    EXPECT_FALSE(facts.judge(reckless(), true).code);
    EXPECT_FALSE(facts.judge(careful, false).code) << "it evicts no key that never expires";
    EXPECT_EQ(facts.strength(), token_strength::strict);
    facts.eviction_policy = "allkeys-lru";
    EXPECT_EQ(facts.judge(careful, false).code, errc::unsafe_server);
    EXPECT_EQ(facts.strength(), token_strength::durable_if_configured);
    facts.primary = false;
    EXPECT_EQ(facts.judge(reckless(), true).code, errc::read_only_server);
}

}  // namespace
}  // namespace mortise::store_detail::server_facts_test
