// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_TRIALS_HPP
#define MORTISE_TESTS_SUPPORT_TRIALS_HPP

#include "support/machine_pulse.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::test {

/// Which failures of cases count.
///
/// Many cases use real servers in real time, with TTLs of a second or less. When the machine lets a
/// process wait, sessions end that the case wanted to keep, and a failure says nothing. So cases
/// that fail while the machine was late are run again, in a new process: three trials in all. On a
/// machine that is in time every failure counts at once, and so does a crash on any machine.
class trials : public testing::EmptyTestEventListener {
public:
    static constexpr int trials_max = 3;
    /// A machine that is not overloaded lets a thread wait for less.
    static constexpr std::chrono::milliseconds late{50};

    explicit trials(machine_pulse& pulse) : pulse_(pulse) {}

    void OnTestStart(const testing::TestInfo&) override { pulse_.restart(); }
    void OnTestEnd(const testing::TestInfo& test) override;

    /// @param code of the run that has ended. @return the code of the program, after more trials if
    ///             there must be some.
    int outcome(int code, const std::vector<std::string>& program) const;

private:
    machine_pulse& pulse_;
    std::string late_ones_;  ///< The cases that failed while the machine was late, as a filter.
    bool one_counts_ = false;
};

}  // namespace mortise::test

#endif
