// SPDX-License-Identifier: BSL-1.0
#include "store/redis/words.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace mortise::store_detail::words_test {
namespace {

TEST(Words, AreTakenOneAfterTheOther) {
    words said("o 12 1 a b");
    EXPECT_EQ(said.next(), "o");
    EXPECT_EQ(said.number(), 12u);
    EXPECT_TRUE(said.flag());
    EXPECT_FALSE(said.at_end());
    EXPECT_EQ(said.rest(), "a b");
    EXPECT_TRUE(said.at_end());
    EXPECT_EQ(said.next(), "");
    EXPECT_FALSE(said.failed());
}

TEST(Words, TakeNumbersOfDigitsOnly) {
    for (const char* bad : {"", "x", "1x", "-1", "+1", "0x1", "1.5", "18446744073709551616"}) {
        words said(bad);
        said.number();
        EXPECT_TRUE(said.failed()) << bad;
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
        words said(text);
        EXPECT_EQ(said.base(), good);
        EXPECT_FALSE(said.failed());
    }
    for (const std::uint64_t bad : {std::uint64_t{0}, fencing_token::base_end, ~std::uint64_t{0}}) {
        const std::string text = std::to_string(bad);
        words said(text);
        said.base();
        EXPECT_TRUE(said.failed()) << bad;
    }
}

TEST(Words, TakeFlagsOfOneDigit) {
    words no("0");
    EXPECT_FALSE(no.flag());
    EXPECT_FALSE(no.failed());
    for (const char* bad : {"", "2", "true", "01"}) {
        words said(bad);
        said.flag();
        EXPECT_TRUE(said.failed()) << bad;
    }
}

TEST(Words, StayFailed) {
    words said("x 1");
    said.number();
    EXPECT_EQ(said.number(), 1u);
    EXPECT_TRUE(said.failed());
}

TEST(Words, AreEmptyBetweenTwoSpaces) {
    words said("a  b");
    EXPECT_EQ(said.next(), "a");
    EXPECT_EQ(said.next(), "");
    EXPECT_EQ(said.next(), "b");
}

}  // namespace
}  // namespace mortise::store_detail::words_test
