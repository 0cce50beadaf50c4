// SPDX-License-Identifier: BSL-1.0
// The Redlock store itself in virtual time: the scripts of its nodes run in models of servers.
#include "conformance/port_conformance.hpp"
#include "conformance/redlock_model_harness.hpp"

namespace mortise::test {
namespace {

MORTISE_ALL_SUITES(RedlockModel, redlock_model_harness)

}  // namespace
}  // namespace mortise::test
