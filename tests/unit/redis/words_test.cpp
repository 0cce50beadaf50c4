// SPDX-License-Identifier: BSL-1.0
#include "store/redis/words.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace mortise::store_detail::words_test {
namespace {

TEST(Words, AreTakenOneAfterTheOther) {
    words reply("o 12 1 a b");
    EXPECT_EQ(reply.next(), "o");
    EXPECT_EQ(reply.number(), 12u);
    EXPECT_TRUE(reply.flag());
    EXPECT_FALSE(reply.at_end());
    EXPECT_EQ(reply.rest(), "a b");
    EXPECT_TRUE(reply.at_end());
    EXPECT_EQ(reply.next(), "");
    EXPECT_FALSE(reply.failed());
}

TEST(Words, TakeNumbersOfDigitsOnly) {
    for (const char* bad : {"", "x", "1x", "-1", "+1", "0x1", "1.5", "18446744073709551616"}) {
        words reply(bad);
        reply.number();
        EXPECT_TRUE(reply.failed()) << bad;
    }
    words most("18446744073709551615");
    EXPECT_EQ(most.number(), ~std::uint64_t{0});
    EXPECT_FALSE(most.failed());
    words narrow("4294967296");
    narrow.number<std::uint32_t>();
    EXPECT_TRUE(narrow.failed());
}

TEST(Words, TakeBasesWithinTheirLimits) {
    for (const std::uint64_t good : {std::uint64_t{1}, fencing_token::base_end - 1}) {
        const std::string text = std::to_string(good);
        words reply(text);
        EXPECT_EQ(reply.base(), good);
        EXPECT_FALSE(reply.failed());
    }
    for (const std::uint64_t bad : {std::uint64_t{0}, fencing_token::base_end, ~std::uint64_t{0}}) {
        const std::string text = std::to_string(bad);
        words reply(text);
        reply.base();
        EXPECT_TRUE(reply.failed()) << bad;
    }
}

TEST(Words, TakeFlagsOfOneDigit) {
    words no("0");
    EXPECT_FALSE(no.flag());
    EXPECT_FALSE(no.failed());
    for (const char* bad : {"", "2", "true", "01"}) {
        words reply(bad);
        reply.flag();
        EXPECT_TRUE(reply.failed()) << bad;
    }
}

TEST(Words, StayFailed) {
    words reply("x 1");
    reply.number();
    EXPECT_EQ(reply.number(), 1u);
    EXPECT_TRUE(reply.failed());
}

TEST(Words, AreEmptyBetweenTwoSpaces) {
    words reply("a  b");
    EXPECT_EQ(reply.next(), "a");
    EXPECT_EQ(reply.next(), "");
    EXPECT_EQ(reply.next(), "b");
}

}  // namespace
}  // namespace mortise::store_detail::words_test
