// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"
#include "conformance/zookeeper_node_harness.hpp"

MORTISE_LOCK_CONFORMANCE(ZooKeeperNode, zookeeper_node_harness)
