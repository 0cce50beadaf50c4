// SPDX-License-Identifier: BSL-1.0
#include "store/redis/single_key_values.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace mortise::store_detail::single_key_values_test {
namespace {

const std::string id = single_key_id({0x0123456789abcdef, 0xfedcba9876543210}, 0x1f);

TEST(KeyValues, NameTheSessionAndTheRequest) {
    EXPECT_EQ(id, "0123456789abcdeffedcba98000000000000001f");
    std::set<std::string> all;
    for (request_id request = 0; request < 1'000; ++request)
        all.insert(single_key_id({1, 2}, request));
    EXPECT_EQ(all.size(), 1'000u);
}

TEST(KeyValues, HaveATokenIfOneStandsInThem) {
    const auto shop = *token_domain::parse("shop");
    const auto token = single_key_token(id + ":12345", shop);
    EXPECT_EQ(token.base(), 12'345u);
    EXPECT_EQ(token.domain, shop);
}

TEST(KeyValues, HaveAMarkOtherwiseWhichNoFenceTakes) {
    const auto shop = *token_domain::parse("shop");
    std::set<std::uint64_t> marks;
    const std::set<std::string> values{
        "",
        "x",
        id,
        id + ":",
        id + ":0",
        id + ":1x",
        id + ":-1",
        id + ":99999999999999999999",
        id + "x1",
        std::string(40, 'g') + ":12"};
    for (const auto& value : values) {
        const auto mark = single_key_token(value, shop);
        EXPECT_TRUE(mark) << value;
        EXPECT_TRUE(mark.domain.empty()) << value;
        EXPECT_LT(mark.base(), fencing_token::base_end);
        EXPECT_EQ(mark, single_key_mark(value));
        marks.insert(mark.value);
    }
    EXPECT_EQ(marks.size(), values.size());
    EXPECT_EQ(single_key_token(id + ":12345", token_domain()), single_key_mark(id + ":12345"));
}

}  // namespace
}  // namespace mortise::store_detail::single_key_values_test
