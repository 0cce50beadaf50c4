// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_SCENARIO_HPP
#define MORTISE_TESTS_SIM_SCENARIO_HPP

#include <cstdint>
#include <string>

namespace mortise::test {

/// The result of one run.
class sim_outcome {
public:
    sim_outcome() = default;

    std::string verdict;  ///< The fault found; empty: none.
    std::uint64_t event_hash = 0;
    std::uint64_t steps = 0;
    std::uint64_t grants = 0;
    std::uint64_t errors = 0;
    std::uint64_t faults = 0;
    std::uint64_t writes = 0;
    std::uint64_t refused = 0;        ///< Late writes that the fence refused.
    std::uint64_t lost_unfenced = 0;  ///< Lost updates of numbers without a fence.
};

/// Runs several processes at one store: first chaos, then peace, in which every process must get
/// every lock. Everything follows from the seed.
sim_outcome run_scenario(const std::string& store, std::uint64_t seed, bool trace = false);

}  // namespace mortise::test

#endif
