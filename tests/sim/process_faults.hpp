// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_PROCESS_FAULTS_HPP
#define MORTISE_TESTS_SIM_PROCESS_FAULTS_HPP

#include "mortise/sim/network.hpp"
#include "mortise/sim/process.hpp"
#include "mortise/sim/world.hpp"

#include <cstddef>
#include <string>

namespace mortise::test {

/// Stops a process for that long.
inline void pause_for(sim::process& one, clock::duration span) {
    one.pause();
    one.in().after(span, [&one] { one.resume(); });
}

/// Kills a process unless it is dead, and starts it again after that time.
inline void crash_for(sim::process& one, clock::duration span) {
    if (!one.alive())
        return;
    one.crash();
    one.in().after(span, [&one] {
        if (!one.alive())
            one.restart();
    });
}

/// Cuts one way between two processes, or both, for that long.
inline void cut_off_for(sim::process& one, sim::process& other, clock::duration span) {
    sim::world& world = one.in();
    sim::network& net = world.net();
    const std::size_t way = world.random().below(3);
    world.say(one.name() + " is cut off from " + other.name() + ", way " + std::to_string(way));
    if (way != 1)
        net.cut(one, other);
    if (way != 0)
        net.cut(other, one);
    world.after(span, [&net, &one, &other] {
        net.between(one, other).cut = false;
        net.between(other, one).cut = false;
    });
}

}  // namespace mortise::test

#endif
