// SPDX-License-Identifier: BSL-1.0
#include "client/client_counters.hpp"

#include <gtest/gtest.h>

namespace mortise::test {
namespace {

TEST(ClientCounters, OfWhatLeavesBeforeItHasComeShowNone) {
    detail::client_counters count;
    count.add(&client_stats::leases, -1);
    EXPECT_EQ(count.read().leases, 0u);
    count.add(&client_stats::leases);
    count.add(&client_stats::leases);
    EXPECT_EQ(count.read().leases, 1u);
    EXPECT_EQ(count.read().waiting, 0u);
}

}  // namespace
}  // namespace mortise::test
