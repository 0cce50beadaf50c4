// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_TXN_NEMESIS_HPP
#define MORTISE_TESTS_SIM_TXN_NEMESIS_HPP

#include "mortise/sim/process.hpp"
#include "sim/txn_floor.hpp"

#include <cstdint>
#include <vector>

namespace mortise::test {

/// Causes faults of coordinators, banks, locks, disk and network, until it is stopped.
class txn_nemesis {
public:
    /// @param orphans also leaves branches prepared that no transaction needs
    txn_nemesis(sim::world& in, std::vector<sim::process*> sites, txn_floor& floor, bool orphans)
        : world_(in), sites_(std::move(sites)), floor_(floor), orphans_(orphans) {}

    void rage_until(clock::time_point end);
    /// Ends all faults.
    void stop();

    std::uint64_t faults() const noexcept { return faults_; }

private:
    void plan_next();
    void strike();
    void hit_site(clock::duration span);
    void hit_bank(clock::duration span);
    void hit_locks(clock::duration span);
    void hit_network(clock::duration span);
    void hit_disk(clock::duration span);
    void hit_power(clock::duration span, unsigned waits);
    void leave_orphan();
    sim::process& any_site();

    sim::world& world_;
    const std::vector<sim::process*> sites_;
    txn_floor& floor_;
    const bool orphans_;
    clock::time_point end_;
    std::uint64_t faults_ = 0;
};

}  // namespace mortise::test

#endif
