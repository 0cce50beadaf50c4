// SPDX-License-Identifier: BSL-1.0
// Tests what a real server cannot do on demand: let time pass, evict, forget.
#include "redis_model/model_redis.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::redis_model {
namespace {

using store_detail::redis_value;

class ModelRedis : public testing::Test {
protected:
    redis_value tell(const store_detail::redis_command& words) {
        auto result = server.execute(user, words);
        server.tell_changes();
        return result;
    }

    /// Reads a field of a section of INFO.
    std::string info(const std::string& section, const std::string& field) {
        const std::string report = tell({"INFO", section}).text;
        const auto at = report.find("\n" + field + ":");
        if (at == std::string::npos)
            return "none";
        const auto begin = at + field.size() + 2;
        return report.substr(begin, report.find('\r', begin) - begin);
    }

    void connect() {
        user = server.connect([](const redis_value&) {});
        tracker = server.connect([this](const redis_value& push) {
            changed.push_back(push.items.at(1).items.empty() ? "all" : push.items[1].items[0].text);
        });
        server.execute(tracker, {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "k"});
    }

    std::int64_t now_us = 1'700'000'000'000'000;
    model_redis server{[this] { return now_us; }, 10};
    model_redis::client_id user = 0;
    model_redis::client_id tracker = 0;
    std::vector<std::string> changed;
};

TEST_F(ModelRedis, LetsKeysExpireByTheClockThatItIsGiven) {
    connect();
    tell({"SET", "k", "v", "PX", "1000"});
    tell({"SET", "other", "v", "PX", "2000"});
    now_us += 1'000'000;
    EXPECT_EQ(tell({"GET", "k"}).text, "v");
    now_us += 1'000;
    EXPECT_EQ(tell({"GET", "k"}).type, redis_value::kind::null);
    EXPECT_EQ(changed, (std::vector<std::string>{"k", "k"})) << "once set, once gone";
    now_us += 5'000'000;
    server.expire();
    EXPECT_TRUE(server.keys().empty());
    EXPECT_EQ(info("stats", "expired_keys"), "2");
}

TEST_F(ModelRedis, TellsOfWhatItEvicts) {
    connect();
    tell({"HSET", "k", "f", "v"});
    changed.clear();
    server.evict("k");
    server.evict("none");
    EXPECT_EQ(tell({"EXISTS", "k"}).number, 0);
    EXPECT_EQ(changed, std::vector<std::string>{"k"});
    EXPECT_EQ(info("stats", "evicted_keys"), "1");
}

TEST_F(ModelRedis, ForgetsTheLastChanges) {
    connect();
    tell({"SET", "a", "1"});
    tell({"HSET", "h", "f", "1"});
    tell({"EVAL", "redis.call('SET', 'a', 2) redis.call('HSET', 'h', 'f', 2)", "0"});
    tell({"GET", "a"});
    tell({"FLUSHALL"});
    server.restart(1);
    connect();
    EXPECT_EQ(tell({"GET", "a"}).text, "2") << "a flush is a change";
    server.restart(1);
    connect();
    EXPECT_EQ(tell({"GET", "a"}).text, "1") << "a script is one change, and a read is none";
    EXPECT_EQ(tell({"HGET", "h", "f"}).text, "1");
    server.restart(1);
    connect();
    EXPECT_EQ(tell({"EXISTS", "h"}).number, 0) << "and what was undone is not undone again";
    EXPECT_EQ(tell({"GET", "a"}).text, "1");
    server.restart(50);
    EXPECT_TRUE(server.keys().empty()) << "as many as there are";
}

TEST_F(ModelRedis, IsAnotherRunAfterARestart) {
    connect();
    tell({"SCRIPT", "LOAD", "return 1"});
    const std::string run = info("server", "run_id");
    EXPECT_EQ(info("server", "uptime_in_seconds"), "3600");
    server.restart();
    EXPECT_EQ(server.clients(), 0u);
    connect();
    EXPECT_NE(info("server", "run_id"), run);
    EXPECT_EQ(info("server", "uptime_in_seconds"), "0");
    EXPECT_EQ(info("replication", "master_replid2"), std::string(40, '0'));
    const auto result = tell({"EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"});
    EXPECT_EQ(result.text, "NOSCRIPT No matching script. Please use EVAL.");
    const std::string second = info("server", "run_id");
    server.fail_over();
    connect();
    EXPECT_EQ(info("replication", "master_replid2"), second);
    EXPECT_EQ(info("server", "uptime_in_seconds"), "3600");
}

TEST_F(ModelRedis, StopsAScriptThatDoesNotEnd) {
    connect();
    const auto result = tell({"EVAL", "while true do end", "0"});
    EXPECT_EQ(result.type, redis_value::kind::error);
    EXPECT_NE(result.text.find("does not end"), std::string::npos) << result.text;
}

TEST_F(ModelRedis, CountsItsCommandsAndReplicas) {
    connect();
    tell({"SET", "a", "1"});
    tell({"EVAL", "return redis.call('SET', 'a', 2)", "0"});
    tell({"HGET", "a", "f"});
    EXPECT_TRUE(info("commandstats", "cmdstat_set").starts_with("calls=2,"));
    EXPECT_TRUE(info("commandstats", "cmdstat_hget").ends_with("failed_calls=1"));
    server.set_replicas(2);
    EXPECT_EQ(tell({"WAIT", "3", "0"}).number, 2);
    EXPECT_EQ(tell({"ROLE"}).items.at(2).items.size(), 2u);
    EXPECT_EQ(info("replication", "connected_slaves"), "2");
}

}  // namespace
}  // namespace mortise::redis_model
