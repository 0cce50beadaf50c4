// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_worker.hpp"

#include <gtest/gtest.h>

namespace mortise::test {
namespace {

// The cost of a lock in bytes is compared between processes, machines and days.
TEST(BenchLockName, IsOfSeventeenBytes) {
    EXPECT_EQ(tool::bench_lock_name().size(), 17u);
    EXPECT_EQ(tool::bench_lock_name(), tool::bench_lock_name());
}

}  // namespace
}  // namespace mortise::test
