// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"
#include "conformance/redis_harness.hpp"

MORTISE_LOCK_CONFORMANCE(Redis, redis_harness)
