// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"
#include "conformance/redis_harness.hpp"

MORTISE_LOCK_CONFORMANCE(Redis, redis_harness)

namespace mortise::test {
namespace {

/// Spoils the messages that open a connection.
class redis_opening_harness final : public redis_harness {
    bool counts(const proxied_message& message) const override {
        return !redis_harness::counts(message);
    }
};

INSTANTIATE_TEST_SUITE_P(
    RedisOpening,
    FaultSweep,
    testing::Combine(
        testing::Values(&make_harness<redis_opening_harness>),
        testing::Values(all_operations().front())
    ),
    name_of_operation
);

}  // namespace
}  // namespace mortise::test
