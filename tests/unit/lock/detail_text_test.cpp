// SPDX-License-Identifier: BSL-1.0
#include "mortise/detail/text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace mortise::detail {
namespace {

TEST(DetailText, NumbersHaveSixteenDigitsAndAreReadBack) {
    for (const std::uint64_t number :
         {std::uint64_t{0},
          std::uint64_t{0x0123456789abcdef},
          std::numeric_limits<std::uint64_t>::max()}) {
        const std::string digits = hexadecimal(number);
        EXPECT_EQ(digits.size(), 16u);
        EXPECT_TRUE(is_hexadecimal(digits));
        EXPECT_EQ(parse_hexadecimal(digits), number);
    }
    EXPECT_EQ(hexadecimal(std::uint64_t{0x0123456789abcdef}), "0123456789abcdef");
    EXPECT_EQ(parse_hexadecimal("ABCDEF"), 0xabcdefu);
}

TEST(DetailText, WhatIsNoHexadecimalNumberIsRefused) {
    for (const char* text : {"", "g", "0x1", "-1", "+1", " 1", "1 ", "10000000000000000"})
        EXPECT_EQ(parse_hexadecimal(text), std::nullopt) << text;
    EXPECT_FALSE(is_hexadecimal("ABC"));
}

TEST(DetailText, BytesBecomeTwoDigitsEach) {
    EXPECT_EQ(hexadecimal(std::string("\x00\x7f\xff", 3)), "007fff");
}

TEST(DetailText, PercentSignsNeedTwoDigits) {
    const std::string bytes("a/b %\xc3\x00", 7);
    EXPECT_EQ(percent_encoded(bytes), "a%2Fb%20%25%C3%00");
    EXPECT_EQ(percent_decoded("a%2Fb%20%25%c3%00"), bytes);
    for (const char* text : {"%", "%2", "%2g", "a%", "%-1", "% 1"})
        EXPECT_EQ(percent_decoded(text), std::nullopt) << text;
}

TEST(DetailText, OverlongFormsSurrogatesAndCutCharactersAreNotUtf8) {
    for (const char* text :
         {"", "a", "\xc2\x80", "\xe2\x82\xac", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(valid_utf8(text)) << hexadecimal(std::string_view(text));
    for (const char* text :
         {"\x80",
          "\xc1\xbf",
          "\xe0\x9f\xbf",
          "\xed\xa0\x80",
          "\xf0\x8f\xbf\xbf",
          "\xf4\x90\x80\x80",
          "\xf5\x80\x80\x80",
          "\xe2\x82",
          "\xff"})
        EXPECT_FALSE(valid_utf8(text)) << hexadecimal(std::string_view(text));
    EXPECT_EQ(first_utf8("\xe2\x82\xac!").code, 0x20acu);
    EXPECT_EQ(first_utf8("\xe2\x82\xac!").size, 3u);
}

}  // namespace
}  // namespace mortise::detail
