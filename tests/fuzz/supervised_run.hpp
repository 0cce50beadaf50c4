// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_SUPERVISED_RUN_HPP
#define MORTISE_TESTS_FUZZ_SUPERVISED_RUN_HPP

#include "fuzz/mutator.hpp"
#include "fuzz/target.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace mortise::fuzz {

/// How a run ended that did not end well.
struct run_failure {
    run_failure() = default;

    std::string how;            ///< "ended by signal 6", ...
    std::size_t inputs = 0;     ///< How many were begun.
    std::optional<bytes> last;  ///< The input that was under way, if one was.
};

/// Feeds a target in a process of its own, so that it does not matter how it fails: whatever kills
/// that process, or keeps it for longer than `limit` with one input, is told with the input.
///
/// `next` gives the inputs, and nothing at the end; it is called in that process.
std::optional<run_failure> supervised_run(
    const target& subject,
    const std::function<std::optional<bytes>()>& next,
    std::chrono::seconds limit
);

}  // namespace mortise::fuzz

#endif
