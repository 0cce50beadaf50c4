// SPDX-License-Identifier: BSL-1.0
// Replaces kafka_target.cpp in a program without Kafka.
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "outbox/kafka_target.hpp"

namespace mortise::tool {

outbox::sink_factory kafka_target(const kafka_settings&) {
    throw failure(
        exit_code::usage,
        "this `mortise` was built without Kafka",
        "--kafka",
        "build it with -DMORTISE_WITH_KAFKA=ON, or send to files (--to)"
    );
}

}  // namespace mortise::tool
