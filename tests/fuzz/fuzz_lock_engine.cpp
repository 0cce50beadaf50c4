// SPDX-License-Identifier: BSL-1.0
// The lock engine on rows in memory, compared with its model, and with what must always hold.
#include "fuzz/expectations.hpp"
#include "fuzz/target.hpp"
#include "unit/lock/engine_walk.hpp"

namespace mortise::fuzz::lock_engine_target {

MORTISE_FUZZ_TARGET(lock_engine) {
    stop_at_first_failure();
    constexpr int steps_max = 300;
    core::test::engine_walk walk{test::choices(in)};
    for (int i = 0; i < steps_max && !walk.used_up(); ++i) {
        walk.step();
        if (i % 3 == 2)
            walk.compare();
    }
    walk.compare();
}

}  // namespace mortise::fuzz::lock_engine_target
