// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"
#include "conformance/redis_key_harness.hpp"

MORTISE_LOCK_CONFORMANCE(RedisKey, redis_key_harness)
