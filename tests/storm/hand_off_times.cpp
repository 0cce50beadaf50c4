// SPDX-License-Identifier: BSL-1.0
#include "storm/hand_off_times.hpp"

#include "mortise/lock_mode.hpp"

#include <algorithm>

namespace mortise::storm {
namespace {

constexpr std::uint32_t nobody = 0;

bool is_writer(const record& of) {
    return static_cast<lock_mode::kind>(of.mode) == lock_mode::kind::exclusive;
}

// Whether the wish or its lease existed at some moment of the interval.
bool present(const record& of, std::int64_t from, std::int64_t until) {
    return of.asked < until && (of.ended == 0 || of.ended > from);
}

}  // namespace

hand_off_times::hand_off_times(
    std::span<const record> records, std::span<const blow> blows, std::chrono::nanoseconds ttl
)
    : ttl_(ttl.count()) {
    for (const record& each : records) {
        if (each.process == nobody)
            continue;
        lock_log& log = logs_[each.lock];
        log.wishes.push_back(&each);
        if (each.granted != 0)
            log.grants.push_back(&each);
    }
    for (auto& [lock, log] : logs_) {
        std::sort(log.grants.begin(), log.grants.end(), [](const record* one, const record* other) {
            return one->granted < other->granted;
        });
    }
    note_disturbances(blows);
    for (const auto& [lock, log] : logs_) {
        note_releases(log);
        for (const blow& each : blows)
            note_take_overs(log, each);
    }
}

void hand_off_times::note_disturbances(std::span<const blow> blows) {
    for (const blow& each : blows) {
        // A client reaps the claims of a dead process one by one, and meanwhile a lock may be
        // granted to the dead process. So the disturbance lasts one TTL longer.
        const std::int64_t until = each.type == blow::kind::kill ? each.until + ttl_ : each.until;
        for (auto& [lock, log] : logs_) {
            const bool waits =
                std::any_of(log.wishes.begin(), log.wishes.end(), [&](const record* wish) {
                    return wish->process == each.process && present(*wish, each.from, until);
                });
            if (waits || each.inside)
                log.disturbances.push_back({each.from, until, each.type == blow::kind::stop});
        }
    }
}

bool hand_off_times::disturbed(
    const lock_log& log, std::int64_t from, std::int64_t until, bool by_stops_only
) {
    return std::any_of(
        log.disturbances.begin(),
        log.disturbances.end(),
        [&](const disturbance& each) {
            return each.from < until && each.until > from && (each.stop || !by_stops_only);
        }
    );
}

void hand_off_times::note_releases(const lock_log& log) {
    for (std::size_t i = 1; i < log.grants.size(); ++i) {
        const record& before = *log.grants[i - 1];
        const record& next = *log.grants[i];
        if (is_writer(before) && is_writer(next) && before.end == ending::released &&
            next.asked < before.let_go && next.process != before.process &&
            !disturbed(log, before.let_go, next.granted, false))
            undisturbed_.push_back(next.granted - before.let_go);
    }
}

void hand_off_times::note_take_overs(const lock_log& log, const blow& strike) {
    const bool killed = strike.type == blow::kind::kill;
    if (!killed && strike.until - strike.from <= ttl_)
        return;
    const auto had = [&](const record* each) {
        return each->process == strike.process && is_writer(*each) && each->held_from != 0 &&
               each->held_from < strike.from && (each->let_go == 0 || each->let_go > strike.from);
    };
    if (std::none_of(log.grants.begin(), log.grants.end(), had))
        return;
    const auto next = std::find_if(log.grants.begin(), log.grants.end(), [&](const record* each) {
        return each->granted > strike.from;
    });
    if (next == log.grants.end() || (*next)->asked > strike.from ||
        (killed && disturbed(log, strike.from, (*next)->granted, true)))
        return;
    (killed ? after_kill_ : after_stop_).push_back((*next)->granted - strike.from);
}

}  // namespace mortise::storm
