// SPDX-License-Identifier: BSL-1.0
#include "store/redis/greeting.hpp"
#include "unit/redis/reply_samples.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::store_detail::hello_test {
namespace {

using test::array_reply;
using test::error_reply;
using test::number_reply;
using test::text_reply;
using test::texts_reply;

redis_value greeting(const std::string& mode, const std::string& role) {
    auto reply = texts_reply({"server", "redis", "version", "7.0.15", "proto"});
    reply.items.push_back(number_reply(3));
    for (const auto& each : {std::string("mode"), mode, std::string("role"), role})
        reply.items.push_back(text_reply(each));
    reply.items.push_back(text_reply("modules"));
    reply.items.push_back(array_reply({}));
    return reply;
}

error_code judged(const redis_value& hello, redis_role role = redis_role::server) {
    const auto failure = judge_hello({hello}, role);
    EXPECT_EQ(failure.code.failed(), !failure.text.empty());
    return failure.code;
}

TEST(Hello, OfAPrimaryIsGood) {
    EXPECT_FALSE(judged(greeting("standalone", "master")));
    EXPECT_FALSE(
        judge_hello({greeting("standalone", "master"), text_reply("OK")}, redis_role::server).code
    );
}

TEST(Hello, OfAReplicaIsThatOfAServerThatTakesNoWrites) {
    EXPECT_EQ(judged(greeting("standalone", "replica")), errc::read_only_server);
}

TEST(Hello, OfANodeIsGoodWhereAClusterIsAskedFor) {
    EXPECT_EQ(judged(greeting("cluster", "master")), errc::wrong_server);
    EXPECT_EQ(judged(greeting("cluster", "master"), redis_role::sentinel), errc::wrong_server);
    EXPECT_FALSE(judged(greeting("cluster", "master"), redis_role::node));
    EXPECT_FALSE(judged(greeting("cluster", "replica"), redis_role::node));
    EXPECT_EQ(judged(greeting("standalone", "master"), redis_role::node), errc::wrong_server);
}

TEST(Hello, OfASentinelIsGoodWhereOneIsAskedFor) {
    EXPECT_EQ(judged(greeting("sentinel", "master")), errc::wrong_server);
    EXPECT_FALSE(judged(greeting("sentinel", "master"), redis_role::sentinel));
    EXPECT_EQ(judged(greeting("standalone", "master"), redis_role::sentinel), errc::wrong_server);
}

TEST(Hello, MayBeAnsweredByAnError) {
    EXPECT_EQ(judged(error_reply("NOAUTH HELLO must be called")), errc::access_denied);
    EXPECT_EQ(judged(error_reply("WRONGPASS invalid")), errc::access_denied);
    EXPECT_EQ(judged(error_reply("NOPROTO unsupported protocol version")), errc::wrong_server);
    EXPECT_EQ(judged(error_reply("ERR unknown command 'HELLO'")), errc::wrong_server);
    EXPECT_EQ(judged(error_reply("LOADING Redis is loading")), errc::server_loading);
}

TEST(Hello, IsFollowedByADatabaseThatMustBeThere) {
    const auto failure = judge_hello(
        {greeting("standalone", "master"), error_reply("ERR DB index is out of range")},
        redis_role::server
    );
    EXPECT_EQ(failure.code, errc::bad_config);
    EXPECT_EQ(failure.text, "ERR DB index is out of range");
}

TEST(Hello, IsAMap) {
    EXPECT_EQ(judge_hello({}, redis_role::server).code, errc::wrong_server);
    EXPECT_EQ(judged(redis_value()), errc::wrong_server);
    EXPECT_EQ(judged(text_reply("HTTP/1.1 400 Bad Request")), errc::wrong_server);
    EXPECT_EQ(judged(number_reply(3)), errc::wrong_server);
    EXPECT_EQ(judged(array_reply({}), redis_role::sentinel), errc::wrong_server)
        << "it does not say what it is";
    EXPECT_FALSE(judged(texts_reply({"mode"}))) << "a key without a value says nothing";
}

}  // namespace
}  // namespace mortise::store_detail::hello_test
