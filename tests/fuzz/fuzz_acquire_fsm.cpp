// SPDX-License-Identifier: BSL-1.0
// The life of an acquire, with a store that does whatever the bytes say.
#include "fuzz/expectations.hpp"
#include "fuzz/target.hpp"
#include "unit/lock/acquire_walk.hpp"

namespace mortise::fuzz::acquire_fsm_target {

MORTISE_FUZZ_TARGET(acquire_fsm) {
    stop_at_first_failure();
    constexpr int steps_max = 400;
    core::test::acquire_walk life{test::choices(in)};
    for (int i = 0; i < steps_max && !life.used_up(); ++i)
        life.step();
    life.come_to_rest();
}

}  // namespace mortise::fuzz::acquire_fsm_target
