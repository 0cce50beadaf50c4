// SPDX-License-Identifier: BSL-1.0
// The datagram: valid ones are read, others are thrown away.
#include "store/sqlite/hint_sender.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mortise::test::hint_test {
namespace {

using store_detail::decode;
using store_detail::encode;
using store_detail::hint;

TEST(Hint, ComesBackAsItWasSent) {
    for (const auto kind :
         {hint::kind::granted,
          hint::kind::contended,
          hint::kind::changed,
          hint::kind::neighbours,
          hint::kind::stirred}) {
        const hint sent{kind, 0xfedcba9876543210u, ~std::uint64_t{0}};
        EXPECT_EQ(decode(encode(sent)), sent);
    }
}

TEST(Hint, EveryOtherLengthIsThrownAway) {
    const auto good = encode({hint::kind::granted, 1, 2});
    std::vector<std::byte> bytes(good.begin(), good.end());
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(decode(bytes));
    for (std::size_t size = 0; size < good.size(); ++size)
        EXPECT_FALSE(decode(std::span(good).first(size))) << size;
}

TEST(Hint, AForeignHeadIsThrownAway) {
    const auto good = encode({hint::kind::granted, 1, 2});
    for (std::size_t i = 0; i < 6; ++i) {  // magic, version, kind
        auto bad = good;
        bad[i] ^= std::byte{0x40};
        EXPECT_FALSE(decode(bad)) << i;
    }
    auto none = good;
    none[5] = std::byte{0};
    EXPECT_FALSE(decode(none)) << "kind zero";
}

}  // namespace
}  // namespace mortise::test::hint_test
