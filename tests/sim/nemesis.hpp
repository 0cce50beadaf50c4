// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_NEMESIS_HPP
#define MORTISE_TESTS_SIM_NEMESIS_HPP

#include "mortise/sim/process.hpp"
#include "sim/backend.hpp"

#include <cstdint>
#include <vector>

namespace mortise::sim {
class world;
}

namespace mortise::test {

/// Causes faults, one after the other and several at a time, until it is stopped.
class nemesis {
public:
    /// @param far the process that the victims write to.
    nemesis(sim::world& in, std::vector<sim::process*> victims, sim::process& far, backend& of);

    /// Acts from now until `end`, when all its faults are over.
    void rage_until(clock::time_point end);
    /// Ends all faults.
    void stop();

    std::uint64_t faults() const noexcept { return faults_; }

private:
    void plan_next();
    void strike();
    void hit(sim::process& victim, clock::duration span);
    void slow_way(sim::process& from, clock::duration span);
    void spoil_network(clock::duration span);

    sim::world& world_;
    std::vector<sim::process*> victims_;
    sim::process& far_;
    backend& store_;
    clock::time_point end_;
    clock::duration pause_{};
    std::uint64_t faults_ = 0;
};

}  // namespace mortise::test

#endif
