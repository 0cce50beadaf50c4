// SPDX-License-Identifier: BSL-1.0
#include "mortise/token_domain.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <type_traits>

namespace mortise::token_domain_test {
namespace {

TEST(TokenDomain, IsEmptyByDefault) {
    constexpr token_domain none;
    static_assert(none.empty());
    EXPECT_EQ(none.name(), "");
    static_assert(std::is_trivially_copyable_v<token_domain>);
}

TEST(TokenDomain, TakesNamesOfOneTo31Characters) {
    EXPECT_FALSE(token_domain::parse(""));
    for (const std::size_t size : {1u, 16u, 31u}) {
        const std::string name(size, 'a');
        const auto domain = token_domain::parse(name);
        ASSERT_TRUE(domain) << size;
        EXPECT_EQ(domain->name(), name);
        EXPECT_FALSE(domain->empty());
    }
    EXPECT_FALSE(token_domain::parse(std::string(32, 'a')));
    EXPECT_FALSE(token_domain::parse(std::string(100'000, 'a')));
}

TEST(TokenDomain, TakesExactlyTheDocumentedCharacters) {
    const std::string_view allowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:#-";
    for (int value = 0; value < 256; ++value) {
        const std::string name = {'a', static_cast<char>(value), 'z'};
        const bool expected = allowed.find(static_cast<char>(value)) != std::string_view::npos;
        EXPECT_EQ(token_domain::parse(name).has_value(), expected) << "character " << value;
    }
}

TEST(TokenDomain, IsTheSameIfAndOnlyIfTheNameIs) {
    EXPECT_EQ(token_domain::parse("shop"), token_domain::parse("shop"));
    EXPECT_NE(token_domain::parse("shop"), token_domain::parse("Shop"));
    EXPECT_NE(token_domain::parse("shop"), token_domain::parse("shop1"));
    EXPECT_NE(token_domain::parse("shop"), token_domain());
}

TEST(TokenDomain, KeepsTheNameWhateverBecomesOfItsSource) {
    std::string source = "shop";
    const auto domain = token_domain::parse(source);
    source = "!!!!";
    EXPECT_EQ(domain->name(), "shop");
}

}  // namespace
}  // namespace mortise::token_domain_test
