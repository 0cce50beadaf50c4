// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"
#include "conformance/redis_buckets_harness.hpp"

namespace mortise::test {

MORTISE_PORT_SUITES(RedisBuckets, joined_buckets_harness)
MORTISE_CLIENT_SUITES(RedisBuckets, redis_buckets_harness)

// Those of faults that this harness does not bring about.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortDeath);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortLostPush);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortLostChange);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockConformanceSilence);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FaultSweep);

}  // namespace mortise::test
