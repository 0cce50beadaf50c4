// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_EXPECTATIONS_HPP
#define MORTISE_TESTS_FUZZ_EXPECTATIONS_HPP

#include <gtest/gtest.h>

namespace mortise::fuzz {

/// Targets that share code with tests: an `EXPECT_` that fails says what it found, and throws,
/// which nobody catches. (To break into a debugger is a signal that libFuzzer does not know.)
inline void stop_at_first_failure() {
    GTEST_FLAG_SET(throw_on_failure, true);
}

}  // namespace mortise::fuzz

#endif
