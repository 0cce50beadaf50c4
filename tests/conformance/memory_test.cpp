// SPDX-License-Identifier: BSL-1.0
#include "conformance/memory_harness.hpp"
#include "conformance/port_conformance.hpp"

MORTISE_LOCK_CONFORMANCE(Memory, memory_harness)
