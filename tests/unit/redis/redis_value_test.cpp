// SPDX-License-Identifier: BSL-1.0
#include "support/redis_value.hpp"
#include "support/resp_framing.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace mortise::test::redis_value_test {

std::string shown(std::string_view message) {
    return testing::PrintToString(decode_redis_value(message));
}

TEST(RedisValue, ShowsEveryKind) {
    EXPECT_EQ(shown("+OK\r\n"), "\"OK\"");
    EXPECT_EQ(shown("-ERR no\r\n"), "error(ERR no)");
    EXPECT_EQ(shown("!6\r\nERR no\r\n"), "error(ERR no)");
    EXPECT_EQ(shown(":-12\r\n"), "-12");
    EXPECT_EQ(shown(",3.25\r\n"), "3.25");
    EXPECT_EQ(shown("#t\r\n"), "true");
    EXPECT_EQ(shown("#f\r\n"), "false");
    EXPECT_EQ(shown("(123456789012345678901\r\n"), "\"123456789012345678901\"");
    EXPECT_EQ(shown("=7\r\ntxt:a\r\n\r\n"), "\"a\r\n\"");
    EXPECT_EQ(shown("*3\r\n_\r\n$-1\r\n*-1\r\n"), "[null, null, null]");
    EXPECT_EQ(shown("%1\r\n+a\r\n~1\r\n:1\r\n"), "map[\"a\", set[1]]");
    EXPECT_EQ(shown("|1\r\n+a\r\n:1\r\n>1\r\n|0\r\n+x\r\n"), "push[\"x\"]");
}

TEST(RedisValue, IsWhatWasEncoded) {
    const std::vector<std::string> words = {"SET", "k\r\n", std::string("\0v", 2), ""};
    EXPECT_EQ(decode_redis_value(encode_redis_command(words)).texts(), words);
}

TEST(RedisValue, FindsTheValueOfAKey) {
    for (const char* message :
         {"%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n", "*4\r\n+a\r\n:1\r\n+b\r\n:2\r\n"}) {
        const redis_value value = decode_redis_value(message);
        EXPECT_EQ(value.at("b").number, 2);
        EXPECT_THROW(value.at("c"), std::out_of_range);
        EXPECT_THROW(value.at(4), std::out_of_range);
        EXPECT_EQ(value.texts(), (std::vector<std::string>{"a", "1", "b", "2"}));
    }
}

TEST(RedisValue, RefusesMoreOrLessThanOneMessage) {
    for (const char* bad : {"", "+OK", "+OK\r\n+OK\r\n", "*2\r\n:1\r\n", "$5\r\nabc\r\n", ":x\r\n"})
        EXPECT_THROW(decode_redis_value(bad), resp_error) << bad;
}

}  // namespace mortise::test::redis_value_test
