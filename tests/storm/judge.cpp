// SPDX-License-Identifier: BSL-1.0
#include "storm/judge.hpp"

#include "mortise/lock_mode.hpp"
#include "storm/hand_off_times.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace mortise::storm {
namespace {

using kind = lock_mode::kind;
using records_of = std::vector<const record*>;

kind mode_of(const record& of) {
    return static_cast<kind>(of.mode);
}

bool together(const record& one, const record& other) {
    if (mode_of(one) != mode_of(other))
        return false;
    return mode_of(one) == kind::shared ||
           (mode_of(one) == kind::permits && one.slot != other.slot);
}

bool was_held(const record& of) {
    return of.held_from != 0;
}

std::string describe(const record& of) {
    return "process " + std::to_string(of.process) + " with token " + std::to_string(of.token) +
           " (held from " + std::to_string(of.held_from) + " until " +
           std::to_string(of.held_until) + ')';
}

void note(judgement& to, const record& of, const char* relation, const record& other) {
    if (to.first_finding.empty()) {
        to.first_finding = "lock " + std::to_string(of.lock) + ": " + describe(of) + ' ' +
                           relation + ' ' + describe(other);
    }
}

// Judges one lock. A lease may say "held", then "unsure", then "held" again. From the first "held"
// to the last, no other client may have had the lock.
void find_overlaps(judgement& to, records_of held) {
    std::erase_if(held, [](const record* each) { return each->held_until <= each->held_from; });
    std::sort(held.begin(), held.end(), [](const record* one, const record* other) {
        return one->held_from < other->held_from;
    });
    records_of present;
    for (const record* each : held) {
        std::erase_if(present, [each](const record* before) {
            return before->held_until <= each->held_from;
        });
        for (const record* other : present) {
            if (together(*each, *other))
                continue;
            ++to.overlaps;
            note(to, *each, "held together with", *other);
        }
        present.push_back(each);
    }
}

// Judges one lock and one slot: one domain of tokens. Readers of one phase share a token.
void find_falling_tokens(judgement& to, records_of held) {
    records_of asked = held;
    std::sort(asked.begin(), asked.end(), [](const record* one, const record* other) {
        return one->first_ask < other->first_ask;
    });
    std::sort(held.begin(), held.end(), [](const record* one, const record* other) {
        return one->held_from < other->held_from;
    });
    const record* highest = nullptr;  // of leases that surely held earlier
    auto next = held.begin();
    std::map<std::uint64_t, const record*> known;
    for (const record* each : asked) {
        for (; next != held.end() && (*next)->held_from < each->first_ask; ++next) {
            if (!highest || (*next)->token > highest->token)
                highest = *next;
        }
        const auto [same, fresh] = known.try_emplace(each->token, each);
        const bool repeated =
            !fresh && (mode_of(*each) != kind::shared || mode_of(*same->second) != kind::shared);
        if (repeated || (highest && each->token < highest->token)) {
            ++to.falling_tokens;
            note(to, *each, "came after", repeated ? *same->second : *highest);
        }
    }
}

void count(judgement& to, const record& one) {
    to.grants += one.granted != 0;
    to.busy += one.end == ending::busy;
    to.cancelled += one.end == ending::cancelled;
    to.store_away += one.end == ending::store_away;
    to.held_when_cut_off += one.end == ending::holding;
    to.failed += one.end == ending::failed;
    if (one.end == ending::failed)
        to.failed_code = one.code;
    to.lost += one.end == ending::lost;
    to.cut_off += one.end == ending::waiting || one.end == ending::holding;
    if (one.held_though_refused) {
        ++to.held_though_refused;
        note(to, one, "was refused by the resource and held: it is", one);
    }
}

}  // namespace

spread spread_of(std::vector<std::int64_t> nanoseconds) {
    spread found;
    if (nanoseconds.empty())
        return found;
    std::sort(nanoseconds.begin(), nanoseconds.end());
    const auto at = [&](double share) {
        const auto index =
            static_cast<std::size_t>(share * static_cast<double>(nanoseconds.size()));
        return static_cast<double>(nanoseconds[std::min(index, nanoseconds.size() - 1)]) / 1e6;
    };
    found.count = nanoseconds.size();
    found.p50_ms = at(0.5);
    found.p99_ms = at(0.99);
    found.max_ms = at(1);
    return found;
}

judgement
judge(std::span<const record> records, std::span<const blow> blows, std::chrono::nanoseconds ttl) {
    judgement result;
    std::map<std::uint32_t, records_of> held_of_lock;
    std::map<std::pair<std::uint32_t, std::uint32_t>, records_of> held_of_slot;
    for (const record& each : records) {
        if (each.process == 0)
            continue;
        count(result, each);
        if (!was_held(each))
            continue;
        held_of_lock[each.lock].push_back(&each);
        held_of_slot[{each.lock, each.slot}].push_back(&each);
    }
    for (const auto& [lock, held] : held_of_lock)
        find_overlaps(result, held);
    for (const auto& [slot, held] : held_of_slot)
        find_falling_tokens(result, held);
    const hand_off_times times(records, blows, ttl);
    result.hand_off = spread_of(times.undisturbed());
    result.after_kill = spread_of(times.after_kill());
    result.after_stop = spread_of(times.after_stop());
    return result;
}

}  // namespace mortise::storm
