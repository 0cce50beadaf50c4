// SPDX-License-Identifier: BSL-1.0
#include "store/redis/queue_link.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace mortise::store_detail::redis_push_test {
namespace {

// As long as that of a store can be.
const token_domain store_domain = *token_domain::parse("a-name-of-25-characters-x");

std::optional<store_event> pushed(std::string_view message) {
    return parse_push(message, store_domain);
}

TEST(RedisPush, OfAGrantHasItsTokenAndWhetherOthersWait) {
    const auto event = pushed("g 7 5 0 0 12");
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, store_event::kind::granted);
    EXPECT_EQ(event->id, 7u);
    EXPECT_EQ(event->slot, 0u);
    EXPECT_FALSE(event->contended);
    EXPECT_EQ(event->token, (fencing_token{5u << fencing_token::sequence_bits, store_domain}));
    EXPECT_EQ(event->change, 12u);
    EXPECT_TRUE(pushed("g 7 5 0 1 12")->contended);
}

TEST(RedisPush, OfAPermitIsOfTheDomainOfItsSlot) {
    const auto event = pushed("g 7 5 65535 0 1");
    ASSERT_TRUE(event);
    EXPECT_EQ(event->slot, 65'535u);
    EXPECT_EQ(event->token.domain, store_domain.of_slot(65'535));
}

TEST(RedisPush, TellsThatOthersWaitForAGrant) {
    const auto event = pushed("t 7 5 3 12");
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, store_event::kind::contended);
    EXPECT_TRUE(event->contended);
    EXPECT_EQ(event->id, 7u);
    EXPECT_EQ(event->token.base(), 5u);
    EXPECT_EQ(event->slot, 3u);
    EXPECT_EQ(event->change, 12u);
}

TEST(RedisPush, TellsToLookAgainAndOfChanges) {
    EXPECT_EQ(pushed("a")->type, store_event::kind::look_again);
    EXPECT_EQ(pushed("a")->change, 0u);
    EXPECT_EQ(pushed("c")->type, store_event::kind::changed);
}

TEST(RedisPush, TellsWhichGrantWasTakenAway) {
    const auto event = pushed("a 7 12");
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, store_event::kind::look_again);
    EXPECT_EQ(event->id, 7u);
    EXPECT_EQ(event->change, 12u);
}

TEST(RedisPush, TakesTheLargestNumbers) {
    const auto event = pushed("g 18446744073709551615 9007199254740991 65535 1 9007199254740991");
    ASSERT_TRUE(event);
    EXPECT_EQ(event->id, ~request_id{0});
    EXPECT_EQ(event->token.base(), fencing_token::base_end - 1);
}

TEST(RedisPush, IsNothingIfItIsNoneOfOurs) {
    for (const char* bad :
         {"",
          " ",
          "h",
          "x",
          "granted",
          "A",
          "a 1",
          "a 1 x",
          "a 1 2 3",
          "c 1",
          "g",
          "g 7",
          "g 7 5",
          "g 7 5 0",
          "g 7 5 0 1",
          "g 7 5 0 2 1",
          "g 7 5 0 1 x",
          "g x 5 0 1 1",
          "g -7 5 0 1 1",
          "g 7 x 0 1 1",
          "g 7 5 x 1 1",
          "g  7 5 0 1 1",
          "g 7 5 0 1 1 1",
          "t",
          "t 7 5",
          "t 7 5 0",
          "t 7 5 0 1 1",
          "t 7 5 -1 1"})
        EXPECT_FALSE(pushed(bad)) << bad;
}

TEST(RedisPush, IsNothingIfBaseOrSlotAreBeyondTheirLimits) {
    for (const char* bad :
         {"g 7 0 0 1 1",
          "g 7 9007199254740992 0 1 1",
          "g 7 18446744073709551615 0 1 1",
          "g 7 5 65536 1 1",
          "g 7 5 4294967295 1 1",
          "g 7 5 4294967296 1 1",
          "t 7 0 0 1",
          "t 7 5 65536 1",
          "t 7 5 4294967295 1",
          "g 18446744073709551616 5 0 1 1"})
        EXPECT_FALSE(pushed(bad)) << bad;
}

}  // namespace
}  // namespace mortise::store_detail::redis_push_test
