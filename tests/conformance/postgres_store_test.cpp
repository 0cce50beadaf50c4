// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"
#include "conformance/postgres_harness.hpp"

MORTISE_LOCK_CONFORMANCE(PostgreSQL, postgres_harness)
