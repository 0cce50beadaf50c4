// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_ZOOKEEPER_NODE_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_ZOOKEEPER_NODE_HARNESS_HPP

#include "conformance/zookeeper_harness.hpp"

namespace mortise::test {

/// The form of single nodes, at a real ZooKeeper server.
class zookeeper_node_harness final : public zookeeper_harness {
public:
    zookeeper_node_harness() : zookeeper_harness(zookeeper_form::single_node) {}

    static store_abilities abilities() {
        return zookeeper_harness::abilities(zookeeper_form::single_node);
    }

    bool wanted(const std::string& name) override {
        return tree().get(root() + "/locks/" + name).data.ends_with(" wanted");
    }
    bool draws_when_contended() const override { return true; }
};

}  // namespace mortise::test

#endif
