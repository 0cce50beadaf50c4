// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"
#include "conformance/redlock_harness.hpp"

MORTISE_LOCK_CONFORMANCE(Redlock, redlock_harness)
