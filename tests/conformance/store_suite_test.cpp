// SPDX-License-Identifier: BSL-1.0
// Which failures of a test at a store count: those of a machine in time, or those of five trials.
#include "conformance/memory_harness.hpp"
#include "conformance/port_conformance.hpp"

#include <gtest/gtest-spi.h>

#include <string>

namespace mortise::test {
namespace {

enum class machine : bool { in_time, late };

int harnesses = 0;

template <machine How>
class judged_harness final : public memory_harness {
public:
    judged_harness() { ++harnesses; }

    bool simulates_time() const override { return false; }
    bool was_late(const machine_delay&, std::chrono::milliseconds) const override {
        return How == machine::late;
    }
};

class StoreSuiteFailure : public StoreSuite {
protected:
    StoreSuiteFailure() { harnesses = 1; }
    void prepare() override { ++prepared_; }

    int prepared_ = 0;
};

class StoreSuiteLate : public StoreSuiteFailure {};

/// Fails in each trial.
class StoreSuiteFailing : public StoreSuiteFailure {
protected:
    void expect_to_fail(const std::string& with) {
        repeat_while_late();
        EXPECT_NONFATAL_FAILURE(report(), with);
    }
};

class StoreSuiteLateForEver : public StoreSuiteFailing {
protected:
    void TearDown() override {
        expect_to_fail("of harness 5");
        EXPECT_EQ(harnesses, 5);
    }
};

class StoreSuiteInTime : public StoreSuiteFailing {
protected:
    void TearDown() override {
        expect_to_fail("of harness 1");
        EXPECT_EQ(harnesses, 1);
    }
};

INSTANTIATE_TEST_SUITE_P(
    Memory, StoreSuiteLate, testing::Values(&make_harness<judged_harness<machine::late>>)
);
INSTANTIATE_TEST_SUITE_P(
    Memory, StoreSuiteLateForEver, testing::Values(&make_harness<judged_harness<machine::late>>)
);
INSTANTIATE_TEST_SUITE_P(
    Memory, StoreSuiteInTime, testing::Values(&make_harness<judged_harness<machine::in_time>>)
);

TEST_P(StoreSuiteLate, IsTriedAgainWithANewHarness) {
    EXPECT_EQ(prepared_, harnesses);
    EXPECT_EQ(harnesses, 3) << "the machine was late";
}

TEST_P(StoreSuiteLateForEver, FailsWithItsLastTrial) {
    ADD_FAILURE() << "of harness " << harnesses;
}

TEST_P(StoreSuiteInTime, FailsAtOnce) {
    ADD_FAILURE() << "of harness " << harnesses;
}

}  // namespace
}  // namespace mortise::test
