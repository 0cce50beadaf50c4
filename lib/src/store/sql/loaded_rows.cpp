// SPDX-License-Identifier: BSL-1.0
#include "store/sql/loaded_rows.hpp"

#include "core/session_rules.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::store_detail {
namespace {

using core::lock_entry;
using core::presence;
using core::session_key;

bool asks_plainly(const lock_entry& entry) {
    return entry.mode == lock_mode::exclusive() &&
           entry.hold_max == std::chrono::milliseconds::max();
}

bool same(const lock_entry& one, const lock_entry& other) {
    return one.granted == other.granted && one.session == other.session && one.id == other.id &&
           one.token == other.token && one.slot == other.slot && one.since == other.since &&
           one.mode == other.mode && one.hold_max == other.hold_max;
}

// Below the base of the next grant. A new row may get no grant yet; the short ways, which read no
// floor, go on from its base later.
std::uint64_t base_before(const sql_lock& loaded) {
    const bool is_new = loaded.row.stamp == 0;
    return is_new && loaded.floor != 0 ? loaded.floor - 1 : loaded.row.base;
}

}  // namespace

loaded_rows::loaded_rows(const sql_lock& loaded)
    : loaded_(loaded), last_(loaded.row.last), base_(base_before(loaded)) {
    for (const auto& each : loaded.parties)
        parties_[each.key] = &each;
    for (const auto& each : loaded.entries)
        entries(each.granted).emplace(each.ordinal, each);
    if (const auto holder = plain_holder())
        granted_.emplace(holder->ordinal, *holder);
}

// The holder that the row of the lock names. Its ordinal is a new one: it has none at the server,
// and it needs one there if the lock becomes a mixed one. Its base tells when it was granted.
std::optional<lock_entry> loaded_rows::plain_holder() const {
    const auto& row = loaded_.row;
    if (row.holder == 0)
        return std::nullopt;
    lock_entry entry;
    entry.name = loaded_.name;
    entry.granted = true;
    entry.ordinal = row.last + 1;
    entry.session = row.holder;
    entry.id = row.request;
    entry.token = row.base << fencing_token::sequence_bits;
    const auto since = clock::time_point(std::chrono::microseconds(row.base));
    entry.since = std::min(since, loaded_.now);
    return entry;
}

std::optional<lock_entry> loaded_rows::next(std::string_view, bool granted, std::uint64_t after) {
    const auto& all = entries(granted);
    const auto found = all.upper_bound(after);
    return found == all.end() ? std::nullopt : std::optional(found->second);
}

// Ordinals that were given once are not given again, whoever has left.
std::uint64_t loaded_rows::last_ordinal(std::string_view, bool granted) {
    const auto& all = entries(granted);
    return std::max(last_, all.empty() ? 0 : all.rbegin()->first);
}

std::optional<lock_entry> loaded_rows::next_ended(clock::time_point now) {
    for (const auto& [ordinal, entry] : granted_) {
        if (core::is_over(entry.ends(), now))
            return entry;
    }
    return std::nullopt;
}

void loaded_rows::insert(const lock_entry& entry) {
    visible_ = true;
    last_ = std::max(last_, entry.ordinal);
    entries(entry.granted).emplace(entry.ordinal, entry);
}

void loaded_rows::erase(const lock_entry& entry) {
    visible_ = true;
    entries(entry.granted).erase(entry.ordinal);
}

void loaded_rows::grant(const lock_entry& entry) {
    visible_ = true;
    waiting_.erase(entry.ordinal);
    granted_.emplace(entry.ordinal, entry);
}

void loaded_rows::set_hold_max(const lock_entry& granted, std::chrono::milliseconds hold_max) {
    rewritten_ = true;
    granted_.at(granted.ordinal).hold_max = hold_max;
}

presence loaded_rows::presence_of(session_key session) {
    const auto* const party = party_of(session);
    const bool alive = party && !party->dead && !core::is_over(party->deadline, loaded_.now);
    return alive ? presence::alive : presence::gone;
}

void loaded_rows::mark_dead(session_key session) {
    const auto* const party = party_of(session);
    if (party && !party->dead)
        unmarked_.insert(session);
}

std::optional<lock_entry> loaded_rows::any_of(session_key session) {
    for (const bool granted : {true, false}) {
        for (const auto& [ordinal, entry] : entries(granted)) {
            if (entry.session == session)
                return entry;
        }
    }
    return std::nullopt;
}

// A session is forgotten when nothing of it is left in any lock, which one lock cannot tell.
void loaded_rows::forget(session_key) {}

void loaded_rows::changed(session_key session, std::int64_t, std::int64_t, bool unanswered) {
    if (unanswered && presence_of(session) == presence::alive)
        ++changes_[session];
}

std::uint64_t loaded_rows::draw_bases(std::uint64_t count) {
    const std::uint64_t first = std::max({base_ + 1, loaded_.floor, clock_base(loaded_.now)});
    base_ = first + count - 1;
    return first;
}

bool loaded_rows::quarantined() {
    return loaded_.quarantine > clock::duration::zero();
}

const sql_party* loaded_rows::party_of(session_key session) const {
    const auto found = parties_.find(session);
    return found == parties_.end() ? nullptr : found->second;
}

bool loaded_rows::shows(const lock_entry& entry) {
    return presence_of(entry.session) == presence::alive &&
           !(entry.granted && core::is_over(entry.ends(), loaded_.now));
}

// The holder's token must be the highest base: the short ways compare it with the row's, and draw
// the next one above it.
bool loaded_rows::is_plain(std::uint64_t base) const {
    for (const auto* const all : {&granted_, &waiting_}) {
        for (const auto& [ordinal, entry] : *all) {
            if (!asks_plainly(entry))
                return false;
        }
    }
    if (granted_.empty())
        return true;
    return granted_.size() == 1 &&
           granted_.begin()->second.token == base << fencing_token::sequence_bits;
}

// Writes the lock as rows again. @return those besides the row of the lock, by ordinal.
std::vector<lock_entry> loaded_rows::fold(sql_lock_row& row) const {
    row.base = base_;
    row.last = last_;
    row.queue = waiting_.size();
    row.holder = 0;
    row.request = 0;
    row.rest = is_plain(base_) ? 0 : 1;
    std::vector<lock_entry> rows;
    for (const auto& [ordinal, entry] : granted_) {
        if (row.rest == 0) {
            row.holder = entry.session;
            row.request = entry.id;
        } else {
            row.last = std::max(row.last, ordinal);
            rows.push_back(entry);
        }
    }
    for (const auto& [ordinal, entry] : waiting_)
        rows.push_back(entry);
    return rows;
}

bool loaded_rows::any_change() const noexcept {
    return visible_ || rewritten_ || base_ != base_before(loaded_) || !changes_.empty();
}

sql_lock_change loaded_rows::take_change(
    sql_actor actor, request_id answered, sql_stamp stamp, std::vector<core::effect> effects
) const {
    sql_lock_change change;
    for (const auto& effect : effects) {
        if (effect.type == core::effect::kind::granted && effect.to == actor.key &&
            effect.id == answered)
            continue;
        change.pushes.push_back(effect);
    }
    const auto rows = fold(change.row);
    std::map<std::uint64_t, const lock_entry*> before;
    for (const auto& each : loaded_.entries)
        before[each.ordinal] = &each;
    for (const auto& each : rows) {
        const auto known = before.find(each.ordinal);
        if (known == before.end() || !same(*known->second, each))
            change.writes.push_back(each);
        if (known != before.end())
            before.erase(known);
    }
    for (const auto& [ordinal, entry] : before)
        change.erased.push_back(ordinal);
    change.name = loaded_.name;
    change.actor = actor;
    change.expected = loaded_.row.stamp;
    change.row.stamp = stamp;
    change.changes = changes_;
    change.visible = visible_;
    change.record = record_;
    return change;
}

}  // namespace mortise::store_detail
