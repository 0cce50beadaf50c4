// SPDX-License-Identifier: BSL-1.0
#include "conformance/mysql_harness.hpp"
#include "conformance/port_conformance.hpp"

MORTISE_LOCK_CONFORMANCE(MariaDB, mysql_harness)

namespace mortise::test {

// Faults of the messages themselves are for the shell's model (sql_model_test.cpp), others for
// tests/unit/mysql_store.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FaultSweep);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockConformanceRestart);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockConformanceSilence);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortLostChange);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortLostPush);

}  // namespace mortise::test
