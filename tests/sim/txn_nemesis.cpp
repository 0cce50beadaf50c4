// SPDX-License-Identifier: BSL-1.0
#include "sim/txn_nemesis.hpp"

#include "mortise/sim/world.hpp"
#include "sim/process_faults.hpp"

#include <sqlite3.h>

#include <chrono>
#include <iterator>
#include <string>

namespace mortise::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr unsigned power_waits_max = 300;

}  // namespace

void txn_nemesis::rage_until(clock::time_point end) {
    end_ = end;
    plan_next();
}

void txn_nemesis::plan_next() {
    const auto pause = world_.random().around(milliseconds(400));
    world_.after(pause, [this] {
        if (world_.now() >= end_)
            return;
        strike();
        plan_next();
    });
}

void txn_nemesis::strike() {
    ++faults_;
    if (orphans_ && world_.random().chance(0.1))
        return leave_orphan();
    const auto span = world_.random().around(milliseconds(1'200));
    switch (world_.random().below(9)) {
    case 0:
    case 1:
    case 2:
        return hit_site(span);
    case 3:
        return hit_bank(span);
    case 4:
        return hit_locks(span);
    case 5:
    case 6:
        return hit_network(span);
    case 7:
        return hit_disk(span);
    default:
        return hit_power(span, power_waits_max);
    }
}

sim::process& txn_nemesis::any_site() {
    return *sites_[world_.random().below(sites_.size())];
}

void txn_nemesis::hit_site(clock::duration span) {
    sim::process& site = any_site();
    if (world_.random().chance(0.6))
        return crash_for(site, span);
    pause_for(site, 3 * span);
}

void txn_nemesis::hit_bank(clock::duration span) {
    sim::process& bank = world_.random().chance(0.5) ? floor_.here->host() : floor_.there->host();
    if (world_.random().chance(0.6))
        return crash_for(bank, span);
    pause_for(bank, 2 * span);
}

void txn_nemesis::hit_locks(clock::duration span) {
    switch (world_.random().below(3)) {
    case 0:
        floor_.locks.restart_after(span, true);
        break;
    case 1:
        floor_.locks.restart_after(span, false);
        break;
    default:
        pause_for(floor_.locks.host(), span);
    }
}

void txn_nemesis::hit_network(clock::duration span) {
    sim::process& site = any_site();
    sim::process& far = world_.random().chance(0.3)   ? floor_.locks.host()
                        : world_.random().chance(0.5) ? floor_.here->host()
                                                      : floor_.there->host();
    auto& net = world_.net();
    const auto way = world_.random().below(5);
    world_.say("the network to " + far.name() + " fails, way " + std::to_string(way));
    if (way == 0) {
        net.part(site, far);
    } else if (way == 1) {
        net.cut(far, site);
    } else {
        // A repeated message may come after a second, or after an hour, when everything has ended.
        auto& all = net.usual();
        all.loss = way == 2 ? 0.3 : 0.05;
        all.repetition = 0.3;
        all.repetition_delay_mean =
            world_.random().chance(0.3) ? clock::duration(hours(1)) : clock::duration(seconds(1));
        all.delay_mean = way == 3 ? milliseconds(300) : milliseconds(1);
    }
    world_.after(span, [&net] { net.heal(); });
}

void txn_nemesis::hit_disk(clock::duration span) {
    constexpr int failures[] = {SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_FULL};
    const auto draw = [this](std::size_t count) { return world_.random().below(count); };
    floor_.disk.result = failures[draw(std::size(failures))];
    floor_.disk.for_good = draw(2) != 0;
    floor_.disk.fail_at = floor_.disk.operations + 1 + static_cast<int>(draw(20));
    world_.say("the disk fails with " + std::to_string(floor_.disk.result));
    world_.after(span, [this] { floor_.disk.fail_at = 0; });
}

// Waits for a moment at which something can be lost, if it may.
void txn_nemesis::hit_power(clock::duration span, unsigned waits) {
    if (world_.now() >= end_)
        return;
    const auto unsynced = floor_.disk.unsynced();
    if (waits != 0 && (unsynced == 0 || world_.random().chance(0.7))) {
        const auto pause = world_.random().around(std::chrono::microseconds(700));
        world_.after(pause, [this, span, waits] { hit_power(span, waits - 1); });
        return;
    }
    world_.say("the power of the coordinators' machine fails");
    auto& disk = floor_.disk;
    disk.power = false;
    for (sim::process* const each : sites_)
        crash_for(*each, span);
    disk.lose_unsynced(unsynced == 0 ? 0 : world_.random().below(unsynced + 1));
    disk.power = true;
}

// As a log leaves them that has lost its last transactions, or one that is not in this world.
void txn_nemesis::leave_orphan() {
    constexpr std::uint64_t beyond = 1'000'000;
    auto& bank = world_.random().chance(0.5) ? *floor_.here : *floor_.there;
    const bool foreign = world_.random().chance(0.5);
    if (!foreign && floor_.log_id == 0)
        return;
    auto& count = foreign ? floor_.foreign : floor_.orphans;
    const auto number = beyond + count;
    if (bank.leave_orphan({foreign ? txn_floor::foreign_log : floor_.log_id, number}))
        ++count;
    world_.say("an orphan is left at " + bank.host().name());
}

void txn_nemesis::stop() {
    world_.net().usual().delay_mean = milliseconds(1);
    world_.net().heal();  // every link has the usual settings now
    floor_.disk.fail_at = 0;
    for (sim::process* const each :
         {&floor_.here->host(), &floor_.there->host(), &floor_.locks.host()}) {
        if (!each->alive())
            each->restart();
        each->resume();
    }
    for (sim::process* const each : sites_) {
        if (!each->alive())
            each->restart();
        each->resume();
    }
}

}  // namespace mortise::test
