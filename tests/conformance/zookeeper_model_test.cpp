// SPDX-License-Identifier: BSL-1.0
// The ZooKeeper store itself in virtual time, at models of a server and of an ensemble.
#include "conformance/port_conformance.hpp"
#include "conformance/zookeeper_model_harness.hpp"

namespace mortise::test {
namespace {

/// Three servers, of which clients use any.
class ensemble_model_harness final : public zookeeper_model_harness {
public:
    ensemble_model_harness() : zookeeper_model_harness(3) {}

    std::size_t many_names() const override { return 1'000; }
    std::size_t cost_of_a_step() const override { return 8; }
};

/// The form of single nodes.
class node_model_harness final : public zookeeper_model_harness {
public:
    node_model_harness() : zookeeper_model_harness(1, zookeeper_form::single_node) {}

    static store_abilities abilities() {
        auto all = abilities_of<node_model_harness>();
        all.loses_pushes = false;
        return all;
    }
    bool wanted(const std::string& name) override {
        return ensemble().tree().get("/mortise/locks/" + name).data.ends_with(" wanted");
    }
    bool draws_when_contended() const override { return true; }
};

MORTISE_ALL_SUITES(ZooKeeperModel, zookeeper_model_harness)
// What one client has written, another one may read late: the suites at the port expect it at once.
MORTISE_CLIENT_SUITES(ZooKeeperEnsembleModel, ensemble_model_harness)
MORTISE_ALL_SUITES(ZooKeeperNodeModel, node_model_harness)

}  // namespace

// As zookeeper_store_test.cpp says; and whoever lives in virtual time has no threads.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ContextEnd);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockThreads);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockThreadsEnd);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockThreadsModes);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortDeath);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortHoldMax);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockConformanceHoldMax);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortExtend);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockConformanceExtend);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortLostPush);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StorePortLostChange);

}  // namespace mortise::test
