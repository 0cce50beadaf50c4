// SPDX-License-Identifier: BSL-1.0
#include "unit/lock/acquire_walk.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace mortise::core::acquire_fsm_walk_test {
namespace {

using mortise::test::choices;
using test::acquire_walk;

TEST(AcquireFsmWalk, KeepsItsPromisesInTenThousandRandomLives) {
    std::size_t granted = 0;
    std::size_t refused = 0;
    std::size_t late = 0;
    for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
        acquire_walk life{choices(seed)};
        for (int i = 0; i < 40; ++i)
            life.step();
        life.come_to_rest();
        ++(life.granted() ? granted : refused);
        late += life.ended_late() ? 1u : 0u;
        if (testing::Test::HasFailure())
            FAIL() << "with seed " << seed;
    }
    // The walk is worth something only if it reaches every kind of end.
    EXPECT_GT(granted, 1'000u);
    EXPECT_GT(refused, 1'000u);
    EXPECT_GT(late, 100u);
}

}  // namespace
}  // namespace mortise::core::acquire_fsm_walk_test
