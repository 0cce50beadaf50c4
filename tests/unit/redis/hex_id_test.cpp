// SPDX-License-Identifier: BSL-1.0
#include "store/hex_id.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace mortise::store_detail::hex_id_test {
namespace {

TEST(HexId, IsReadAsItIsWritten) {
    const random_id id{0x0123456789abcdef, 0xfedcba9876543210};
    EXPECT_EQ(parse_hex_id("0123456789abcdeffedcba9876543210"), id);
    EXPECT_EQ(parse_hex_id(id.text()), id);
}

TEST(HexId, HasThirtyTwoDigitsAndNothingElse) {
    const std::string good = "0123456789abcdeffedcba9876543210";
    for (const std::string& bad :
         {std::string(),
          good.substr(1),
          good + '0',
          "g" + good.substr(1),
          "-" + good.substr(1),
          " " + good.substr(1),
          "0x" + good.substr(2),
          good.substr(0, 16) + "+" + good.substr(17)})
        EXPECT_FALSE(parse_hex_id(bad)) << bad;
}

TEST(HexId, OfARunIsItsFirst128Bits) {
    const std::string run = "00000000000000010000000000000002ffffffff";
    EXPECT_EQ(incarnation_of(run), (random_id{1, 2}));
    EXPECT_NE(incarnation_of("1" + run.substr(1)), incarnation_of(run));
}

TEST(HexId, IsEmptyOfAServerThatTellsNoRun) {
    for (const char* none : {"", "-", "unknown", "0123456789abcdef"})
        EXPECT_FALSE(incarnation_of(none)) << none;
}

TEST(HexId, IsShortenedToEightCharactersThatNoKeyIsSplitAt) {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::set<std::string> names;
    for (unsigned bit = 0; bit < 48; ++bit) {
        const auto name = short_name({std::uint64_t{1} << bit, 5});
        EXPECT_EQ(name.size(), 8u);
        EXPECT_EQ(name.find_first_not_of(letters), std::string::npos) << name;
        names.insert(name);
    }
    EXPECT_EQ(names.size(), 48u) << "each of the 48 bits counts";
    EXPECT_EQ(short_name({~std::uint64_t{0}, 0}), "________");
    EXPECT_EQ(short_name({}), "AAAAAAAA");
}

}  // namespace
}  // namespace mortise::store_detail::hex_id_test
