// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"
#include "conformance/zookeeper_harness.hpp"

MORTISE_LOCK_CONFORMANCE(ZooKeeper, zookeeper_harness)
