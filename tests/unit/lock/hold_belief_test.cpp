// SPDX-License-Identifier: BSL-1.0
#include "core/hold_belief.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace mortise::test {
namespace {

using core::hold_belief;
using std::chrono::seconds;

hold_belief::moment at(int second) {
    const auto end = clock::time_point() + seconds(second);
    return {end, end - std::chrono::milliseconds(100)};
}

int end_of(const hold_belief& belief) {
    const auto ends = belief.ends();
    EXPECT_EQ(ends.alarm, ends.end - std::chrono::milliseconds(100)) << "the alarm of that end";
    return static_cast<int>((ends.end - clock::time_point()) / seconds(1));
}

TEST(HoldBelief, IsTheEarliestEndThatMayBeTrue) {
    hold_belief belief(at(10));
    EXPECT_EQ(end_of(belief), 10);
    const auto longer = belief.sent(at(30));
    EXPECT_EQ(end_of(belief), 10) << "not yet";
    const auto shorter = belief.sent(at(5));
    EXPECT_EQ(end_of(belief), 5) << "perhaps already";
    belief.applied(longer);
    EXPECT_EQ(end_of(belief), 5);
    belief.applied(shorter);
    EXPECT_EQ(end_of(belief), 5) << "by now it is";
    const auto again = belief.sent(at(40));
    belief.applied(again);
    EXPECT_EQ(end_of(belief), 40);
}

TEST(HoldBelief, AnAnswerLengthensItWhileLaterCallsAreUnderWay) {
    hold_belief belief(at(1));
    for (int i = 2; i < 10; ++i) {
        const auto earlier = belief.sent(at(i));
        const auto later = belief.sent(at(i + 1));
        belief.applied(earlier);
        EXPECT_EQ(end_of(belief), i);
        belief.applied(later);
        EXPECT_EQ(end_of(belief), i + 1);
    }
}

TEST(HoldBelief, ACallWithoutAnAnswerCountsUntilALaterOneIsAnswered) {
    hold_belief belief(at(10));
    belief.sent(at(3));
    const auto later = belief.sent(at(60));
    EXPECT_EQ(end_of(belief), 3);
    belief.applied(later);
    EXPECT_EQ(end_of(belief), 60) << "it came before that one";
}

TEST(HoldBelief, ACallThatWasNotMadeCountsNoMore) {
    hold_belief belief(at(10));
    const auto call = belief.sent(at(3));
    belief.not_applied(call);
    EXPECT_EQ(end_of(belief), 10);
    belief.applied(call);
    EXPECT_EQ(end_of(belief), 10) << "nor if it were said to be made";
}

TEST(HoldBelief, ShowsNoLaterEndThanTheStoreDoes) {
    hold_belief belief(at(60));
    belief.shown(at(10));
    EXPECT_EQ(end_of(belief), 10);
    belief.shown(at(20));
    EXPECT_EQ(end_of(belief), 10);
    const auto call = belief.sent(at(90));
    belief.applied(call);
    EXPECT_EQ(end_of(belief), 90);
}

}  // namespace
}  // namespace mortise::test
