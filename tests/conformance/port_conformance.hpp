// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_PORT_CONFORMANCE_HPP
#define MORTISE_TESTS_CONFORMANCE_PORT_CONFORMANCE_HPP

#include "conformance/operation_sweep.hpp"
#include "conformance/peer.hpp"
#include "conformance/store_harness.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace mortise::test {

/// Skips a test that needs what this store does not have, by its traits.
#define MORTISE_NEEDS(trait)                                                                       \
    if (!h().make_store()->traits().trait)                                                         \
    GTEST_SKIP() << "by its traits this store has not: " #trait

/// Tests of what every store promises at its port, in the words of `store.hpp`.
class StorePort : public testing::TestWithParam<harness_factory> {
protected:
    StorePort() : harness_(GetParam()()) {}

    store_harness& h() { return *harness_; }

    std::unique_ptr<store_harness> harness_;
};

/// Tests of what every store promises to the users of a `lock_client`.
class LockConformance : public testing::TestWithParam<harness_factory> {
protected:
    LockConformance() : harness_(GetParam()()) {}

    store_harness& h() { return *harness_; }

    std::unique_ptr<store_harness> harness_;
};

}  // namespace mortise::test

/// One sweep of all operations at one store.
#define MORTISE_SWEEP(Name, Sweep, Harness)                                                        \
    INSTANTIATE_TEST_SUITE_P(                                                                      \
        Name,                                                                                      \
        Sweep,                                                                                     \
        testing::Combine(                                                                          \
            testing::Values(&make_harness<Harness>), testing::ValuesIn(all_operations())           \
        ),                                                                                         \
        name_of_operation                                                                          \
    );

/// Runs the whole suite at a store: the one line that a store needs.
#define MORTISE_LOCK_CONFORMANCE(Name, Harness)                                                    \
    namespace mortise::test {                                                                      \
    INSTANTIATE_TEST_SUITE_P(Name, StorePort, testing::Values(&make_harness<Harness>));            \
    INSTANTIATE_TEST_SUITE_P(Name, LockConformance, testing::Values(&make_harness<Harness>));      \
    MORTISE_SWEEP(Name, CancelSweep, Harness)                                                      \
    }

#endif
