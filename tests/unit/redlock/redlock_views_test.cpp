// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/redlock_views.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::store_detail::redlock_views_test {
namespace {

using namespace std::chrono_literals;

party_at_node party(const char* owner, std::uint64_t base, std::uint64_t since = 1) {
    party_at_node one;
    one.owner = owner;
    one.request = 1;
    one.base = base;
    one.since = since;
    one.view.label = owner;
    one.view.left = std::chrono::seconds(since);
    return one;
}

lock_at_node seen(std::vector<party_at_node> parties) {
    lock_at_node lock;
    lock.parties = std::move(parties);
    return lock;
}

lock_view merged(const std::vector<lock_at_node>& nodes, std::size_t silent = 0) {
    std::vector<const lock_at_node*> all;
    for (const auto& each : nodes)
        all.push_back(&each);
    return merge_views("door", all, silent, 2, *token_domain::parse("redlock"));
}

TEST(RedlockViews, ShowWhoeverHasTheVotesOfAMajorityForOneBallot) {
    const auto lock =
        merged({seen({party("alice", 5, 3)}), seen({party("alice", 5, 2)}), seen({party("bob", 6)})}
        );
    ASSERT_EQ(lock.holders.size(), 1u);
    EXPECT_EQ(lock.holders[0].label, "alice");
    EXPECT_EQ(lock.holders[0].token.base(), 5u);
    EXPECT_EQ(lock.holders[0].left, 2s) << "a majority keeps it so long";
    EXPECT_EQ(lock.waiter_count, 0u) << "one node alone knows bob";
}

TEST(RedlockViews, ShowNoHolderWhileVotesAreSplit) {
    const auto lock = merged(
        {seen({party("alice", 5), party("bob", 0, 9)}),
         seen({party("alice", 7), party("bob", 0, 9)}),
         seen({party("bob", 6, 9), party("alice", 0)})}
    );
    EXPECT_TRUE(lock.holders.empty()) << "alice has two votes, but for different ballots";
    ASSERT_EQ(lock.waiter_count, 2u);
    EXPECT_EQ(lock.waiters[0].label, "alice") << "she asked earlier";
    EXPECT_EQ(lock.waiters[1].label, "bob");
}

TEST(RedlockViews, ShowWhomASilentNodeMayHaveMadeTheHolder) {
    const auto unknown = merged({seen({party("alice", 5)}), seen({party("bob", 0)})}, 1);
    ASSERT_EQ(unknown.holders.size(), 1u);
    EXPECT_EQ(unknown.holders[0].label, "alice");
    EXPECT_EQ(unknown.waiter_count, 1u) << "the silent one may know bob";
    const auto known =
        merged({seen({party("bob", 6)}), seen({party("alice", 5)}), seen({party("alice", 5)})}, 0);
    ASSERT_EQ(known.holders.size(), 1u);
    EXPECT_EQ(known.holders[0].label, "alice");
}

TEST(RedlockViews, ShowNothingWhereNobodyIs) {
    const auto lock = merged({seen({}), seen({}), seen({party("alice", 5)})});
    EXPECT_TRUE(lock.holders.empty());
    EXPECT_EQ(lock.waiter_count, 0u);
}

}  // namespace
}  // namespace mortise::store_detail::redlock_views_test
