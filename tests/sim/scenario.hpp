// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_SCENARIO_HPP
#define MORTISE_TESTS_SIM_SCENARIO_HPP

#include <cstdint>
#include <string>

namespace mortise::test {

/// What came of one run.
class sim_outcome {
public:
    sim_outcome() = default;

    std::string verdict;  ///< What is wrong; empty: nothing.
    std::uint64_t event_hash = 0;
    std::uint64_t steps = 0;
    std::uint64_t grants = 0;
    std::uint64_t errors = 0;
    std::uint64_t faults = 0;
    std::uint64_t writes = 0;
    std::uint64_t refused = 0;        ///< Late writes that the fence kept out.
    std::uint64_t lost_unfenced = 0;  ///< Updates that were lost where there was no fence.
};

/// A number of processes, one store, chaos for a while, and then peace, in which every process must
/// get every lock. All of it follows from the seed.
sim_outcome run_scenario(const std::string& store, std::uint64_t seed, bool trace = false);

}  // namespace mortise::test

#endif
