// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_ROUND_HPP
#define MORTISE_TESTS_STORM_ROUND_HPP

#include "storm/judge.hpp"
#include "storm/settings.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::storm {

/// What became of one storm.
struct round {
    round() = default;

    judgement logs;
    std::size_t kills = 0;
    std::size_t stops = 0;
    std::size_t long_stops = 0;    ///< Of these, longer than the TTL.
    std::size_t inside_stops = 0;  ///< Of these, while it kept the others from the store.
    std::uint64_t writes = 0;
    std::uint64_t refused = 0;  ///< Late readers and writers, by the fence.

    /// What must not be; empty: all is well.
    std::vector<std::string> verdict;
};

/// Lets a storm rage for so long over a store of its own, waits until all processes have left, and
/// judges. @throws std::exception if the machine does not let it happen.
round run_round(const settings& how, std::chrono::milliseconds span);

}  // namespace mortise::storm

#endif
