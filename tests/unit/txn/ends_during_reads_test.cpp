// SPDX-License-Identifier: BSL-1.0
#include "coordinator/ends_during_reads.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace mortise::test::ends_during_reads_test {
namespace {

using txn::detail::ends_during_reads;

TEST(TxnEndsDuringReads, AnEndMakesTheReadsThatBeganBeforeItStale) {
    ends_during_reads ends;
    const auto before = ends.begin();
    ends.add(7);
    const auto after = ends.begin();
    EXPECT_TRUE(before->is_stale(7));
    EXPECT_FALSE(before->is_stale(8));
    EXPECT_FALSE(after->is_stale(7)) << "this read sees the end in the log";
    ends.add(8);
    EXPECT_TRUE(before->is_stale(8));
    EXPECT_TRUE(after->is_stale(8));
}

TEST(TxnEndsDuringReads, AnEndOutsideOfReadsIsNotRemembered) {
    ends_during_reads ends;
    ends.add(7);
    EXPECT_FALSE(ends.begin()->is_stale(7));
}

TEST(TxnEndsDuringReads, TheEndOfAReadForgetsNothingThatAnotherOneNeeds) {
    constexpr std::uint64_t many = 3'000;  // more than are kept without a look at who needs them
    ends_during_reads ends;
    auto first = ends.begin();
    for (std::uint64_t number = 1; number <= many; ++number)
        ends.add(number);
    const auto second = ends.begin();
    ends.add(many + 1);
    first.reset();
    EXPECT_TRUE(second->is_stale(many + 1));
    EXPECT_FALSE(second->is_stale(1));
    const auto third = ends.begin();
    EXPECT_FALSE(third->is_stale(many + 1));
}

}  // namespace
}  // namespace mortise::test::ends_during_reads_test
