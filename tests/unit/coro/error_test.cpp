// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/assert.hpp"
#include "mortise/coro/error.hpp"

#include <gtest/gtest.h>

namespace mortise::error_test {

TEST(CoroError, NamesEveryCode) {
    const error_code full = coro::errc::queue_full;
    const error_code threw = coro::errc::work_threw;
    EXPECT_EQ(full.message(), "the worker's queue is full");
    EXPECT_NE(full, threw);
    EXPECT_STREQ(full.category().name(), "mortise.coro");
    EXPECT_EQ(error_code(99, coro::error_category()).message(), "unknown error 99 of mortise.coro");
}

TEST(AssertDeathTest, SaysWhatWasBrokenAndWhere) {
    const int two = 2;
    MORTISE_ASSERT(two == 2);
    EXPECT_DEATH(MORTISE_ASSERT(two == 3), "error_test.cpp:[0-9]+: .*two == 3");
}

TEST(Assert, TakesExpressionsWithCommas) {
    MORTISE_ASSERT(std::is_same_v<int, int>);
}

}  // namespace mortise::error_test
