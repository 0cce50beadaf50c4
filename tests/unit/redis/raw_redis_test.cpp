// SPDX-License-Identifier: BSL-1.0
#include "support/raw_redis.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <system_error>

namespace mortise::test::raw_redis_test {

using namespace std::chrono_literals;

TEST(RawRedis, KeepsBinaryValues) {
    raw_redis redis = shared_redis().connect();
    const std::string value("\0\r\n*1\r\n\xff", 8);
    EXPECT_TRUE(redis.command({"SET", "raw:binary", value}).is("OK"));
    EXPECT_EQ(redis.command({"GET", "raw:binary"}).text, value);
    EXPECT_TRUE(redis.command({"GET", "raw:none"}).is_null());
    EXPECT_EQ(redis.command({"DEL", "raw:binary"}).number, 1);
}

TEST(RawRedis, CarriesLargeValues) {
    raw_redis redis = shared_redis().connect();
    const std::string value(5'000'000, 'v');
    EXPECT_EQ(redis.command({"ECHO", value}).text, value);
}

TEST(RawRedis, ThrowsTheServersWordsUnlessErrorsAreAskedFor) {
    raw_redis redis = shared_redis().connect();
    EXPECT_TRUE(redis.try_command({"NONSENSE"}).is_error());
    try {
        redis.command({"NONSENSE"});
        ADD_FAILURE() << "an error was taken for a reply";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("unknown command"), std::string::npos);
    }
}

TEST(RawRedis, SpeaksBothVersions) {
    raw_redis redis = shared_redis().connect();
    EXPECT_EQ(redis.command({"CONFIG", "GET", "save"}).type, redis_value::kind::array);
    EXPECT_EQ(redis.command({"HELLO", "3"}).at("proto").number, 3);
    const redis_value map = redis.command({"CONFIG", "GET", "save"});
    EXPECT_EQ(map.type, redis_value::kind::map);
    EXPECT_EQ(map.at("save").text, "");
}

TEST(RawRedis, KeepsThePushesThatComeBeforeAReply) {
    raw_redis redis = shared_redis().connect();
    redis.command({"HELLO", "3"});
    redis.send({"SUBSCRIBE", "raw:news"});
    redis.send({"PUBLISH", "raw:news", "1"});
    EXPECT_EQ(redis.receive().number, 1);
    const auto confirmed = redis.next_push(10s);
    ASSERT_TRUE(confirmed);
    EXPECT_EQ(confirmed->texts(), (std::vector<std::string>{"subscribe", "raw:news", "1"}));
    const auto heard = redis.next_push(10s);
    ASSERT_TRUE(heard);
    EXPECT_EQ(heard->texts(), (std::vector<std::string>{"message", "raw:news", "1"}));
    EXPECT_FALSE(redis.next_push(1ms));
}

TEST(RawRedis, DoesNotWaitForEver) {
    raw_redis redis(shared_redis().port(), 30ms);
    try {
        redis.command({"BLPOP", "raw:nothing", "0"});
        ADD_FAILURE() << "there was an answer";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::timed_out);
    }
}

TEST(RawRedis, SeesThatTheServerEndsTheConnection) {
    raw_redis redis = shared_redis().connect();
    const std::int64_t id = redis.command({"CLIENT", "ID"}).number;
    EXPECT_FALSE(redis.ends_within(1ms));
    shared_redis().connect().command({"CLIENT", "KILL", "ID", std::to_string(id)});
    EXPECT_TRUE(redis.ends_within(10s));
    EXPECT_THROW(redis.command({"PING"}), std::system_error);
}

TEST(RawRedis, CountsCommandsAlsoThoseOfScripts) {
    raw_redis redis = shared_redis().connect();
    redis.command({"CONFIG", "RESETSTAT"});
    EXPECT_EQ(redis.calls("set"), 0U);
    redis.command({"SET", "raw:n", "1"});
    redis.command({"EVAL", "return redis.call('SET', KEYS[1], 2)", "1", "raw:n"});
    EXPECT_EQ(redis.calls("set"), 2U);
    EXPECT_EQ(redis.calls("eval"), 1U);
    EXPECT_EQ(redis.info("server").at("tcp_port"), std::to_string(shared_redis().port()));
}

}  // namespace mortise::test::raw_redis_test
