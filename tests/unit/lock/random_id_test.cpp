// SPDX-License-Identifier: BSL-1.0
#include "mortise/store_types.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace mortise::random_id_test {
namespace {

TEST(RandomId, IsNothingByDefault) {
    EXPECT_FALSE(random_id());
    EXPECT_TRUE((random_id{0, 1}));
    EXPECT_TRUE((random_id{1, 0}));
}

TEST(RandomId, IsWrittenAs32LowerCaseDigits) {
    EXPECT_EQ(random_id().text(), "00000000000000000000000000000000");
    EXPECT_EQ((random_id{1, 0xABC}).text(), "00000000000000010000000000000abc");
    EXPECT_EQ((random_id{~std::uint64_t{0}, 0}).text(), "ffffffffffffffff0000000000000000");
}

TEST(RandomId, IsOrderedAsItIsWritten) {
    EXPECT_LT((random_id{1, 9}), (random_id{2, 0}));
    EXPECT_LT((random_id{1, 1}), (random_id{1, 2}));
    EXPECT_EQ((random_id{1, 1}), (random_id{1, 1}));
}

TEST(RandomId, DrawsAreNeverNothingAndNeverTheSame) {
    std::set<random_id> drawn;
    std::uint64_t ones = 0;
    std::uint64_t zeros = 0;
    for (int i = 0; i < 1'000; ++i) {
        const random_id id = random_id::draw();
        EXPECT_TRUE(id);
        EXPECT_TRUE(drawn.insert(id).second);
        ones |= id.high & id.low;
        zeros |= ~id.high & ~id.low;
    }
    // Every bit of both halves is used: a chance of 128 in 4^1000 to fail otherwise.
    EXPECT_EQ(ones, ~std::uint64_t{0});
    EXPECT_EQ(zeros, ~std::uint64_t{0});
}

}  // namespace
}  // namespace mortise::random_id_test
