// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/lone_locks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace mortise::test::lone_locks_test {
namespace {

using store_detail::lone_locks;

/// What the store does for a request and its release, of which nobody else knows.
class cycles {
public:
    /// @return whether the node was the first by its number
    bool make(std::uint32_t number, const std::string& name = "door") {
        if (lone.wants_watch(name))
            lone.note_watch(name);
        return lone.note_creation(name, number);
    }
    bool cycle(std::uint32_t number, const std::string& name = "door") {
        const bool first = make(number, name);
        lone.note_deletion(name, number);
        return first;
    }
    /// Until nodes are expected to be the first: of these numbers.
    void warm_up(std::uint32_t from = 0) {
        for (auto number = from; number < from + 3; ++number)
            EXPECT_FALSE(cycle(number));
    }

    lone_locks lone;
};

TEST(LoneLocks, AreTrustedAfterANodeThatWasMadeUnderTheWatch) {
    cycles all;
    EXPECT_FALSE(all.cycle(7));
    EXPECT_FALSE(all.lone.wants_watch("door")) << "it may be the only time";
    EXPECT_FALSE(all.cycle(8));
    EXPECT_TRUE(all.lone.wants_watch("door"));
    EXPECT_FALSE(all.lone.expects("door"));
    EXPECT_FALSE(all.cycle(9)) << "the watch may be that of another parent than node 8 had";
    EXPECT_TRUE(all.lone.expects("door"));
    EXPECT_TRUE(all.cycle(10));
    EXPECT_TRUE(all.cycle(11));
    EXPECT_FALSE(all.lone.wants_watch("door"));
}

TEST(LoneLocks, AnotherNumberMeansThatSomebodyCameBetween) {
    cycles all;
    all.warm_up();
    EXPECT_FALSE(all.cycle(4));
    EXPECT_FALSE(all.lone.expects("door")) << "others want it";
    EXPECT_TRUE(all.cycle(5)) << "the number tells it all the same";
    EXPECT_TRUE(all.lone.expects("door"));
}

TEST(LoneLocks, ANodeThatDidNotHaveTheLockTellsNothingOfTheNextOne) {
    cycles all;
    all.warm_up();
    EXPECT_TRUE(all.make(3));
    EXPECT_FALSE(all.lone.expects("door")) << "that one is there yet, or waited";
    EXPECT_FALSE(all.make(4));
}

TEST(LoneLocks, OfAnotherParentAreDoubted) {
    cycles all;
    all.warm_up();
    all.lone.doubt("door");
    EXPECT_FALSE(all.lone.expects("door"));
    all.warm_up(3);
    EXPECT_TRUE(all.lone.expects("door"));
    all.lone.doubt_all();
    EXPECT_FALSE(all.cycle(6));
}

TEST(LoneLocks, ADoubtThatComesBeforeTheAnswerCounts) {
    cycles all;
    all.warm_up();
    EXPECT_TRUE(all.lone.expects("door"));
    all.lone.doubt("door");
    EXPECT_FALSE(all.lone.note_creation("door", 3));
    all.lone.note_deletion("door", 3);
    EXPECT_FALSE(all.cycle(4)) << "its watch is gone";
}

TEST(LoneLocks, AreSomeOnly) {
    cycles all;
    all.warm_up();
    for (std::uint32_t i = 0; i < 3 * lone_locks::locks_max; ++i)
        EXPECT_FALSE(all.cycle(5, std::to_string(i)));
    EXPECT_TRUE(all.cycle(3)) << "a lock that is watched is not forgotten for others";
    for (std::uint32_t i = 0; i < lone_locks::locks_max - 1; ++i) {
        for (std::uint32_t number = 0; number < 3; ++number)
            EXPECT_FALSE(all.cycle(number, "w" + std::to_string(i)));
    }
    for (std::uint32_t number = 0; number < 5; ++number)
        EXPECT_FALSE(all.cycle(number, "one more"));
    EXPECT_FALSE(all.lone.wants_watch("one more"));
    EXPECT_TRUE(all.cycle(4));
}

}  // namespace
}  // namespace mortise::test::lone_locks_test
