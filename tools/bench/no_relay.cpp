// SPDX-License-Identifier: BSL-1.0
// Replaces the measurement of a relay in a program without Kafka.
#include "bench/measure.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"

namespace mortise::tool {

bench_report measure_relay(const bench_settings&) {
    throw failure(
        exit_code::usage,
        "this `mortise` was built without Kafka",
        "bench relay",
        "build it with -DMORTISE_WITH_KAFKA=ON"
    );
}

}  // namespace mortise::tool
