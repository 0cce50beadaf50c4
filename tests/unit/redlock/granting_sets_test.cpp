// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/granting_sets.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

namespace mortise::store_detail::granting_sets_test {
namespace {

using namespace std::chrono_literals;
using numbers = std::vector<proof_number>;

clock::time_point at(clock::duration since) {
    return clock::time_point() + since;
}

granting_sets with_sessions(std::size_t nodes) {
    granting_sets sets(nodes);
    for (std::size_t node = 0; node < nodes; ++node)
        sets.opened(node, at(0s));
    return sets;
}

TEST(GrantingSets, AreProvedByTheMthNewestHeartbeatOfTheirNodes) {
    granting_sets sets = with_sessions(5);
    const auto set = sets.grant({0, 1, 2});
    EXPECT_EQ(set, 1u);
    EXPECT_EQ(sets.base(set), at(0s));
    for (const std::size_t node : {2u, 3u, 4u})
        sets.acknowledged(node, at(5s));
    EXPECT_EQ(sets.base(0), at(5s)) << "a majority of all nodes";
    EXPECT_EQ(sets.base(set), at(0s)) << "of those only one has granted it";
    sets.acknowledged(1, at(4s));
    EXPECT_EQ(sets.base(set), at(0s));
    sets.acknowledged(0, at(3s));
    EXPECT_EQ(sets.base(set), at(3s));
    EXPECT_TRUE(sets.is_proved_since(set, at(3s)));
    EXPECT_FALSE(sets.is_proved_since(set, at(4s)));
    EXPECT_FALSE(sets.are_proved_since(at(4s)));
    const auto wide = sets.grant({0, 1, 2, 3, 4});
    EXPECT_NE(wide, set);
    EXPECT_EQ(sets.base(wide), at(5s)) << "the three newest of five";
}

TEST(GrantingSets, NeverGoBackToAnOlderAcknowledgement) {
    granting_sets sets = with_sessions(3);
    for (const std::size_t node : {0u, 1u, 2u})
        sets.acknowledged(node, at(5s));
    sets.acknowledged(0, at(2s));
    sets.acknowledged(1, at(2s));
    EXPECT_EQ(sets.base(0), at(5s));
}

// A node that has a new session has forgotten the votes of the one before.
TEST(GrantingSets, CountNoHeartbeatOfALaterSession) {
    granting_sets sets = with_sessions(3);
    const auto set = sets.grant({0, 1});
    sets.lost(1);
    EXPECT_FALSE(sets.is_kept(set));
    sets.opened(1, at(9s));
    sets.acknowledged(0, at(9s));
    EXPECT_FALSE(sets.is_kept(set));
    EXPECT_EQ(sets.base(set), std::nullopt);
    EXPECT_EQ(sets.base(0), at(9s));
    EXPECT_NE(sets.grant({0, 1}), set) << "the same nodes with another session";
}

TEST(GrantingSets, AreSharedByGrantsOfTheSameNodes) {
    granting_sets sets = with_sessions(3);
    const auto set = sets.grant({0, 1, 2});
    EXPECT_EQ(sets.grant({0, 1, 2}), set);
    EXPECT_NE(sets.grant({0, 1}), set);
    EXPECT_TRUE(sets.retired().empty()) << "complete sets may be used again";
}

TEST(GrantingSets, RetireWhenLostOrIncompleteAndUnused) {
    granting_sets sets = with_sessions(3);
    const auto all = sets.grant({0, 1, 2});
    const auto two = sets.grant({0, 1});
    sets.lost(2);
    EXPECT_TRUE(sets.is_kept(all)) << "two of three sessions live";
    EXPECT_EQ(sets.retired(), numbers{});
    sets.release(all);
    EXPECT_EQ(sets.retired(), numbers{all}) << "nobody can be granted by that set again";
    sets.lost(1);
    EXPECT_EQ(sets.retired(), (numbers{all, two}));
    sets.forget(all);
    EXPECT_EQ(sets.retired(), numbers{two});
    sets.opened(1, at(1s));
    EXPECT_EQ(sets.grant({0, 1}), all) << "a number that the client has forgotten is free";
}

}  // namespace
}  // namespace mortise::store_detail::granting_sets_test
