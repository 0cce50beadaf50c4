// SPDX-License-Identifier: BSL-1.0
// The judge must object: else the walks of store_rules_test.cpp show nothing.
#include "conformance/grant_judge.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace mortise::test {
namespace {

/// Two sessions, each with a grant of "door" in a mode of its own.
std::string objection_to(lock_mode first, lock_mode second, session_entry other) {
    grant_judge judge;
    judge.know(0, 1, first);
    judge.know(1, 1, second);
    session_entry own = other;
    own.token.value = 2;
    own.slot = first.capacity() == 0 ? 0 : 1;
    grant_judge::views_type views;
    views[0].entries.push_back(own);
    views[1].entries.push_back(std::move(other));
    return judge.objection(views);
}

TEST(GrantJudge, ObjectsToWhatMayNotBeHeldTogether) {
    session_entry entry;
    entry.id = 1;
    entry.name = "door";
    entry.granted = true;
    entry.token.value = 2;
    const auto exclusive = lock_mode::exclusive();
    const auto shared = lock_mode::shared();
    const auto pair = lock_mode::permits(2);
    EXPECT_EQ(objection_to(shared, shared, entry), "");
    EXPECT_EQ(objection_to(exclusive, exclusive, entry), "door is held twice");
    EXPECT_EQ(objection_to(shared, exclusive, entry), "door is held in two modes");
    EXPECT_EQ(objection_to(pair, pair, entry), "door has no such slot");
    entry.slot = 1;
    EXPECT_EQ(objection_to(pair, pair, entry), "door is held twice");
    entry.slot = 2;
    EXPECT_EQ(objection_to(pair, pair, entry), "");
    EXPECT_EQ(objection_to(pair, lock_mode::permits(3), entry), "door is held in two modes");
    entry.slot = 0;
    entry.token.value = 1;
    EXPECT_EQ(objection_to(shared, shared, entry), "door is shared by two tokens");
}

TEST(GrantJudge, ObjectsToATokenThatHasFallen) {
    grant_judge judge;
    judge.know(0, 1, lock_mode::exclusive());
    grant_judge::views_type views;
    auto& entry = views[0].entries.emplace_back();
    entry.id = 1;
    entry.name = "door";
    entry.granted = true;
    entry.token.value = 2;
    EXPECT_EQ(judge.objection(views), "");
    entry.token.value = 1;
    EXPECT_EQ(judge.objection(views), "door has a token that has fallen");
}

}  // namespace
}  // namespace mortise::test
