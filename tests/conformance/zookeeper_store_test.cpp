// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"
#include "conformance/zookeeper_harness.hpp"

MORTISE_LOCK_CONFORMANCE(ZooKeeper, zookeeper_harness)

namespace mortise::test {

// The store frees no grant before its session ends, and no test loses what a watch tells: on one
// connection it comes before the answers that show it, and with the connection the session looks.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortDeath);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortHoldMax);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockConformanceHoldMax);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortExtend);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockConformanceExtend);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortLostPush);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortLostChange);

}  // namespace mortise::test
