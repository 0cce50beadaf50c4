// SPDX-License-Identifier: BSL-1.0
#include "mortise/token_domain.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
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

TEST(TokenDomain, HasADomainForEachSlot) {
    const auto shop = *token_domain::parse("shop");
    EXPECT_EQ(shop.of_slot(0), shop);
    EXPECT_EQ(shop.of_slot(1).name(), "shop#1");
    EXPECT_EQ(shop.of_slot(65'535).name(), "shop#65535");
    EXPECT_NE(shop.of_slot(1), shop.of_slot(11));
    const auto longest = *token_domain::parse(std::string(token_domain::store_size_max, 'd'));
    EXPECT_EQ(longest.of_slot(65'535).name().size(), token_domain::size_max);
}

TEST(TokenDomain, KnowsTheSlotsThatWereMadeOfItAndNoOthers) {
    const auto shop = *token_domain::parse("shop");
    EXPECT_EQ(shop.slot_in(shop), 0u);
    for (const std::uint32_t slot : {1u, 9u, 10u, 65'535u})
        EXPECT_EQ(shop.of_slot(slot).slot_in(shop), slot);
    for (const char* name :
         {"shops",
          "shop#",
          "shop#0",
          "shop#01",
          "shop#1x",
          "shop#-1",
          "shop##1",
          "sho#1",
          "shopx#1",
          "shop#99999999999999999999"})
        EXPECT_EQ(token_domain::parse(name)->slot_in(shop), std::nullopt) << name;
    EXPECT_EQ(token_domain().slot_in(shop), std::nullopt);
}

}  // namespace
}  // namespace mortise::token_domain_test
