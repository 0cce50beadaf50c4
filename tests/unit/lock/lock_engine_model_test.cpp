// SPDX-License-Identifier: BSL-1.0
#include "unit/lock/engine_walk.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace mortise::core::lock_engine_model_test {
namespace {

using mortise::test::choices;
using test::engine_walk;

TEST(LockEngineModel, AgreesWithALineForEachLock) {
    std::size_t grants = 0;
    std::size_t refused = 0;
    std::size_t ended = 0;
    std::size_t notices = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        engine_walk one{choices(seed)};
        for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
            one.step();
            if (i % 3 == 2)
                one.compare();
        }
        grants += one.grants();
        refused += one.refused();
        ended += one.ended();
        notices += one.notice_count();
        if (testing::Test::HasFailure())
            FAIL() << "with seed " << seed;
    }
    EXPECT_GT(grants, 3'000u) << "the runs must reach something";
    EXPECT_GT(refused, 30u);
    EXPECT_GT(ended, 100u);
    EXPECT_GT(notices, 1'000u);
}

}  // namespace
}  // namespace mortise::core::lock_engine_model_test
