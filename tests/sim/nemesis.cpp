// SPDX-License-Identifier: BSL-1.0
#include "sim/nemesis.hpp"

#include "mortise/sim/world.hpp"
#include "sim/process_faults.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

}  // namespace

nemesis::nemesis(sim::world& in, std::vector<sim::process*> victims, sim::process& far, backend& of)
    : world_(in), victims_(std::move(victims)), far_(far), store_(of) {}

void nemesis::rage_until(clock::time_point end) {
    end_ = end;
    // Some runs are calm between two faults; in others faults overlap.
    pause_ = world_.random().between(milliseconds(100), milliseconds(1'000));
    plan_next();
}

void nemesis::plan_next() {
    world_.after(world_.random().around(pause_), [this] {
        if (world_.now() >= end_)
            return;
        strike();
        plan_next();
    });
}

void nemesis::strike() {
    ++faults_;
    const auto left = end_ - world_.now();
    const auto span = std::min<clock::duration>(
        left, milliseconds(10) + world_.random().around(milliseconds(2'500))
    );
    sim::process& victim = *victims_[world_.random().below(victims_.size())];
    const std::size_t choice = world_.random().below(11);
    world_.note("fault", choice, victim.index());
    if (choice < 5)
        hit(victim, span);
    else if (choice < 7)
        store_.cut_off(victim, span);
    else if (choice < 8)
        spoil_network(span);
    else if (choice < 9)
        slow_way(victim, span);
    else
        store_.misbehave(span);
}

void nemesis::hit(sim::process& victim, clock::duration span) {
    switch (world_.random().below(4)) {
    case 0:
        crash_for(victim, span);
        break;
    case 1:
        victim.set_clock_rate(static_cast<std::int32_t>(world_.random().below(8'001)) - 4'000);
        break;
    default:
        pause_for(victim, span);
    }
}

// Makes writes take longer than their locks are held.
void nemesis::slow_way(sim::process& from, clock::duration span) {
    sim::link& way = world_.net().between(from, far_);
    way.delay_min = world_.random().between(milliseconds(500), milliseconds(4'000));
    world_.after(span, [&way] { way.delay_min = microseconds(50); });
}

void nemesis::spoil_network(clock::duration span) {
    sim::link& usual = world_.net().usual();
    usual.loss = 0.1 * static_cast<double>(world_.random().below(3));
    usual.repetition = 0.1 * static_cast<double>(world_.random().below(3));
    usual.delay_mean = world_.random().around(milliseconds(40));
    world_.after(span, [&usual] {
        usual.loss = usual.repetition = 0;
        usual.delay_mean = microseconds(200);
    });
}

void nemesis::stop() {
    end_ = world_.now();
    world_.net().usual().delay_mean = microseconds(200);
    world_.net().heal();  // every link has the usual settings now
    for (sim::process* const each : victims_) {
        if (!each->alive())
            each->restart();
        each->resume();
    }
    store_.heal();
}

}  // namespace mortise::test
