// SPDX-License-Identifier: BSL-1.0
// Compares the replies of a server in trouble with those of the model.
#include "redis_model/twin.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using redis_model::model_redis;

class RedisModelCondition : public testing::Test {
protected:
    /// Runs a command at the real server only.
    void tell_real(const std::vector<std::string>& words) { server_.connect().command(words); }

    void agree_on(const std::string& script) { user_.agree({"EVAL", script, "0"}); }

    /// Runs commands of all kinds, and scripts that write sooner or later.
    void agree_on_all() {
        for (const auto& words : std::vector<std::vector<std::string>>{
                 {"GET", "t"},
                 {"SET", "t", "1"},
                 {"DEL", "h"},
                 {"HSET", "h", "f", "v"},
                 {"PUBLISH", "c", "x"},
                 {"PEXPIRE", "t", "100000"},
                 {"PING"},
                 {"NONSENSE"},
                 {"HGET", "h"},
                 {"CONFIG", "GET", "cluster-enabled"},
                 {"EVALSHA", "0123456789012345678901234567890123456789", "0"},
             })
            user_.agree(words);
        agree_on("return redis.call('GET', 't')");
        agree_on("return redis.call('SET', 't', 2)");
        agree_on("return redis.pcall('HSET', 'h', 'f', 3)");
        agree_on("redis.call('DEL', 'none') return redis.call('SET', 't', 4)");
        agree_on("redis.pcall('SET', 't', 5) return redis.pcall('HSET', 'h', 'f', 6)");
        agree_on("redis.call('GET', 't') return redis.pcall('ZADD', 'z', 1, 'm')");
        agree_on("redis.call('PEXPIRE', 'none', 1) return redis.pcall('ZADD', 'z', 1, 'm')");
        agree_on("return redis.pcall('PUBLISH', 'c', 'x')");
        user_.agree({"KEYS", "*"});
        user_.agree({"HGETALL", "h"});
    }

    redis_server server_{{"enable-protected-configs yes", "busy-reply-threshold 10"}};
    model_redis model_{[] { return std::int64_t(1'700'000'000'000'000); }};
    twin user_{server_.port(), model_};
};

TEST_F(RedisModelCondition, IsNothingAtFirst) {
    agree_on_all();
}

TEST_F(RedisModelCondition, MayBeThatMemoryIsShort) {
    agree_on_all();
    tell_real({"CONFIG", "SET", "maxmemory", "1"});
    model_.wrong().out_of_memory = true;
    agree_on_all();
    tell_real({"CONFIG", "SET", "maxmemory", "0"});
    model_.wrong().out_of_memory = false;
    agree_on_all();
}

TEST_F(RedisModelCondition, MayBeThatItIsAReplica) {
    const redis_server empty;
    tell_real({"REPLICAOF", "127.0.0.1", std::to_string(empty.port())});
    raw_redis redis = server_.connect();
    ASSERT_TRUE(eventually([&] {
        return redis.info("replication").at("master_link_status") == "up";
    }));
    model_.wrong().read_only = true;
    agree_on_all();
    user_.agree({"WAIT", "0", "0"});
}

TEST_F(RedisModelCondition, MayBeThatItCannotSave) {
    raw_redis redis = server_.connect();
    redis.command({"CONFIG", "SET", "save", "3600 1"});
    redis.command({"CONFIG", "SET", "dir", "/proc"});
    redis.command({"SET", "t", "1"});
    redis.command({"DEL", "t"});
    redis.command({"BGSAVE"});
    ASSERT_TRUE(eventually([&] {
        return redis.info("persistence").at("rdb_last_bgsave_status") == "err";
    }));
    model_.wrong().disk_failed = true;
    agree_on_all();
}

TEST_F(RedisModelCondition, MayBeThatItIsBusy) {
    raw_redis other = server_.connect();
    raw_redis healer = server_.connect();
    other.send({"EVAL", "while true do end", "0"});
    ASSERT_TRUE(eventually([&] { return healer.try_command({"PING"}).is_error(); }));
    model_.wrong().busy = true;
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"GET", "t"},
             {"SET", "t", "1"},
             {"INFO", "server"},
             {"PUBLISH", "c", "x"},
             {"EVAL", "return 1", "0"},
             {"TIME"},
             {"PING"},
             {"NONSENSE"},
         })
        user_.agree(words);
    healer.command({"SCRIPT", "KILL"});
    EXPECT_TRUE(other.receive().is_error());
}

TEST_F(RedisModelCondition, MayBeThatItWantsToKnowWhoAsks) {
    tell_real({"CONFIG", "SET", "requirepass", "secret"});
    model_.wrong().password = "secret";
    twin stranger(server_.port(), model_, twin::greeting::none);
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"GET", "t"},
             {"EVAL", "return 1", "0"},
             {"NONSENSE"},
             {"HELLO", "3"},
             {"AUTH", "wrong"},
             {"AUTH", "nobody", "secret"},
             {"HELLO", "3", "AUTH", "default", "wrong"},
             {"GET", "t"},
             {"AUTH", "secret"},
             {"GET", "t"},
         })
        stranger.agree(words);
}

TEST_F(RedisModelCondition, MayBeThatSomethingIsForbidden) {
    tell_real({"ACL", "SETUSER", "default", "-hset", "-publish", "-info", "resetchannels", "&c"});
    model_.wrong().forbidden_commands = {"hset", "publish", "info"};
    model_.wrong().forbidden_channels = {"d"};
    agree_on_all();
    agree_on("return redis.pcall('INFO', 'server')");
    tell_real({"ACL", "SETUSER", "default", "+publish"});
    model_.wrong().forbidden_commands = {"hset", "info"};
    agree_on("return redis.pcall('PUBLISH', 'd', 'x')");
    agree_on("return redis.call('PUBLISH', 'd', 'x')");
    user_.agree({"PUBLISH", "d", "x"});
    user_.agree({"PUBLISH", "c", "x"});
}

}  // namespace
}  // namespace mortise::test
