// SPDX-License-Identifier: BSL-1.0
#include "conformance/mysql_harness.hpp"
#include "conformance/port_conformance.hpp"

MORTISE_LOCK_CONFORMANCE(MariaDB, mysql_harness)
