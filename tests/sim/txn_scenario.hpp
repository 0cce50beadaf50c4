// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_TXN_SCENARIO_HPP
#define MORTISE_TESTS_SIM_TXN_SCENARIO_HPP

#include <cstdint>
#include <string>

namespace mortise::test {

/// The result of one run.
class txn_sim_outcome {
public:
    txn_sim_outcome() = default;

    std::string verdict;  ///< The fault found; empty: none.
    std::uint64_t event_hash = 0;
    std::uint64_t steps = 0;
    std::uint64_t confirmed = 0;  ///< Transfers that took place.
    std::uint64_t cancelled = 0;  ///< Cancelled outcomes that callers heard.
    std::uint64_t errors = 0;
    std::uint64_t faults = 0;
    std::uint64_t orphans = 0;  ///< Left prepared at banks.
};

/// How the banks take part: all by reservations, or at least one by transactions that are prepared.
enum class txn_banks : std::uint8_t { reserve, prepare };

/// Coordinators on one machine, a lock server and two banks on others: first chaos, then peace, in
/// which everything that was begun must end. Everything follows from the seed.
txn_sim_outcome run_txn_scenario(std::uint64_t seed, txn_banks banks, bool trace = false);

}  // namespace mortise::test

#endif
