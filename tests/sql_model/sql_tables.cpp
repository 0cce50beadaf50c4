// SPDX-License-Identifier: BSL-1.0
// Sessions, loading and storing; short_statements.cpp has the short ways.
#include "sql_model/sql_tables.hpp"

#include "core/planted_bug.hpp"
#include "mortise/coro/assert.hpp"
#include "store/break_note.hpp"

#include <algorithm>
#include <utility>

namespace mortise::sql_model {

using core::lock_entry;
using store_detail::clock_base;
using store_detail::sql_actor;
using store_detail::sql_beat;
using store_detail::sql_entries;
using store_detail::sql_lock;
using store_detail::sql_lock_change;
using store_detail::sql_proof;
using store_detail::sql_push;

sql_tables::sql_tables(notify_function notify)
    : notify_(std::move(notify)),
      domain_(*token_domain::parse("sql-" + random_id::draw().text().substr(0, 16))) {}

bool sql_tables::alive(session_key key, clock::time_point now) const {
    const auto found = sessions_.find(key);
    return found != sessions_.end() && !found->second.dead &&
           !core::is_over(found->second.deadline, now);
}

bool sql_tables::acts(sql_actor actor, clock::time_point now) const {
    return actor.key == 0 ||
           (alive(actor.key, now) && sessions_.at(actor.key).start.generation == actor.generation);
}

// The view `able` of the facts.
bool sql_tables::able(session_key key, clock::time_point now) const {
    return watched_ == 0 && quarantine_until_ <= now && alive(key, now);
}

bool sql_tables::free_for(const stored_lock& lock, std::uint64_t locker, clock::time_point now)
    const {
    return lock.locker == 0 || lock.locker == locker || lock.locked_until <= now;
}

// `greatest(base + 1, US)`; the floor is for rows that were deleted, or lost. No statement reads it
// for a row that is there.
std::uint64_t sql_tables::next_base(const stored_lock& lock, clock::time_point now) {
    const bool is_new = lock.row.stamp == 0;
    return std::max({lock.row.base + 1, clock_base(now), is_new ? floor_ : 0});
}

result<sql_proof> sql_tables::prove(clock::time_point now, const session_start& start) {
    session_key key = 0;
    std::optional<core::session_terms> known;
    for (const auto& [each, row] : sessions_) {
        if (row.start.id == start.id) {
            key = each;
            known = core::session_terms{
                row.start.generation, row.dead ? clock::time_point::min() : row.deadline};
        }
    }
    switch (core::judge_resume(known, start.generation, now)) {
    case core::resumption::begins:
        key = ++last_key_;
        break;
    case core::resumption::goes_on:
        break;
    case core::resumption::refused:
        return error_code(errc::session_lost);
    }
    session_row& row = sessions_[key];
    row.start = start;
    keep_alive(row, now);
    sql_proof proof;
    proof.key = key;
    proof.incarnation = incarnation_;
    proof.domain = domain_;
    proof.quarantine = core::quarantine_left(quarantine_until_, now);
    return proof;
}

void sql_tables::keep_alive(session_row& session, clock::time_point now) {
    session.deadline = core::deadline_after(now, session.start.ttl);
    std::erase_if(believed_, [now](const auto& each) { return core::is_over(each.second, now); });
    believed_[session.start.ttl] = session.deadline;
}

result<sql_beat> sql_tables::beat(clock::time_point now, sql_actor actor) {
    sql_beat reply;
    reply.incarnation = incarnation_;
    if (!acts(actor, now)) {
        if (MORTISE_PLANTED(heartbeat_revives))
            return reply;
        return error_code(errc::session_lost);
    }
    session_row& own = sessions_.at(actor.key);
    keep_alive(own, now);
    if (MORTISE_PLANTED(session_cut_short))
        own.deadline -= own.start.ttl / 10;
    delete_old_locks(now);
    reply.changes = own.changes;
    reply.watches = own.watches;
    reply.quarantine = core::quarantine_left(quarantine_until_, now);
    look_after_others(reply, actor.key, now);
    return reply;
}

void sql_tables::look_after_others(sql_beat& reply, session_key own, clock::time_point now) const {
    constexpr std::size_t portion = 16;
    core::next_deadline next(now);
    for (const auto& [key, row] : sessions_) {
        if (key == own)
            continue;
        if (alive(key, now))
            next.consider(row.deadline);
        else if (reply.dead.size() < portion)
            reply.dead.push_back(key);
    }
    for (const auto& [name, lock] : locks_) {
        bool ended = false;
        for (const auto& [ordinal, entry] : lock.entries) {
            ended = ended || core::is_over(entry.ends(), now);
            if (entry.session != own && !core::is_over(entry.ends(), now))
                next.consider(entry.ends());
        }
        if (ended && reply.ended.size() < portion)
            reply.ended.push_back(name);
    }
    if (reply.quarantine > clock::duration::zero())
        next.consider(quarantine_until_);
    // What is found now may be more than one portion.
    if (!reply.dead.empty() || !reply.ended.empty())
        next.consider(now);
    reply.next_deadline = next.left();
}

void sql_tables::delete_old_locks(clock::time_point now) {
    constexpr std::size_t portion = 64;
    constexpr std::uint64_t minute = 60'000'000;
    std::size_t deleted = 0;
    for (auto at = locks_.begin(); at != locks_.end() && deleted < portion;) {
        const auto& [row, entries, locker, until] = at->second;
        const bool idle = row.holder == 0 && entries.empty() && locker == 0;
        if (!idle || row.base + minute > clock_base(now)) {
            ++at;
            continue;
        }
        floor_ = std::max(floor_, row.base + 1);
        at = locks_.erase(at);
        ++deleted;
    }
}

void sql_tables::mark(session_row& session) {
    session.dead = true;
    if (std::exchange(session.watches, false))
        --watched_;
}

result<bool> sql_tables::mark_dead(clock::time_point now, session_key key) {
    const auto found = sessions_.find(key);
    if (found == sessions_.end())
        return true;
    if (!found->second.dead && core::is_over(found->second.deadline, now))
        mark(found->second);
    return found->second.dead;
}

error_code sql_tables::end(sql_actor actor) {
    const auto found = sessions_.find(actor.key);
    if (found != sessions_.end() && !found->second.dead)
        mark(found->second);
    return {};
}

error_code sql_tables::forget(session_key key) {
    const auto found = sessions_.find(key);
    if (found == sessions_.end() || !found->second.dead)
        return {};
    const auto left = entries(clock::time_point(), key, 1);
    if (left->places.empty())
        sessions_.erase(found);
    return {};
}

void sql_tables::add_party(sql_lock& to, session_key key) const {
    const auto found = sessions_.find(key);
    const bool known = std::any_of(to.parties.begin(), to.parties.end(), [key](const auto& each) {
        return each.key == key;
    });
    if (found == sessions_.end() || known)
        return;
    const session_row& row = found->second;
    auto& party = to.parties.emplace_back();
    party.key = key;
    party.owner = row.start;
    party.dead = row.dead;
    party.deadline = row.deadline;
}

sql_lock
sql_tables::read(const std::string& name, const stored_lock& lock, clock::time_point now) const {
    sql_lock loaded;
    loaded.name = name;
    loaded.row = lock.row;
    loaded.now = now;
    loaded.floor = floor_;
    loaded.domain = domain_;
    loaded.quarantine = core::quarantine_left(quarantine_until_, now);
    add_party(loaded, lock.row.holder);
    for (const auto& [ordinal, entry] : lock.entries) {
        loaded.entries.push_back(entry);
        add_party(loaded, entry.session);
    }
    return loaded;
}

result<sql_lock> sql_tables::load(
    clock::time_point now, sql_actor actor, const std::string& name, std::uint64_t locker
) {
    if (!acts(actor, now))
        return error_code(errc::session_lost);
    if (locker != 0) {
        stored_lock& lock = locks_[name];
        if (!free_for(lock, locker, now))
            return error_code(errc::database_busy);
        if (lock.row.stamp == 0) {
            lock.row.stamp = locker;
            lock.row.base = floor_;
        }
        lock.locker = locker;
        lock.locked_until = now + row_lock_max;
    }
    const auto found = locks_.find(name);
    auto loaded = read(name, found == locks_.end() ? stored_lock() : found->second, now);
    add_party(loaded, actor.key);
    return loaded;
}

result<bool>
sql_tables::store(clock::time_point now, const sql_lock_change& change, std::uint64_t locker) {
    if (!acts(change.actor, now))
        return error_code(errc::session_lost);
    const auto found = locks_.find(change.name);
    const auto stamp = found == locks_.end() ? 0 : found->second.row.stamp;
    if (stamp == change.row.stamp)
        return true;
    if (stamp != change.expected)
        return false;
    stored_lock& lock = locks_[change.name];
    if (!free_for(lock, locker, now))
        return false;
    lock.locker = 0;
    lock.row = change.row;
    for (const auto ordinal : change.erased)
        lock.entries.erase(ordinal);
    for (const auto& each : change.writes)
        lock.entries[each.ordinal] = each;
    for (const auto& each : change.writes)
        doubles_ += entries_of(lock, each.session, each.id) > 1 ? 1u : 0u;
    if (change.row.base >= clock_base(now))
        floor_ = std::max(floor_, change.row.base + 1);
    for (const auto& [key, count] : change.changes) {
        const auto session = sessions_.find(key);
        if (session != sessions_.end())
            session->second.changes += count;
    }
    if (change.record) {
        breaks_.push_back(*change.record);
        if (breaks_.size() > store_detail::breaks_kept)
            breaks_.pop_front();
    }
    for (const auto& each : change.pushes)
        notify_(each);
    if (change.visible)
        tell_watchers();
    return true;
}

void sql_tables::tell_watchers() {
    if (watched_ == 0)
        return;
    for (auto& [key, row] : sessions_) {
        if (!std::exchange(row.watches, false))
            continue;
        --watched_;
        sql_push changed;
        changed.type = store_event::kind::changed;
        changed.to = key;
        notify_(changed);
    }
}

result<sql_entries>
sql_tables::entries(clock::time_point now, session_key key, std::size_t limit) const {
    sql_entries found;
    found.now = now;
    if (const auto session = sessions_.find(key); session != sessions_.end()) {
        found.alive = alive(key, now);
        found.generation = session->second.start.generation;
        found.changes = session->second.changes;
    }
    for (const auto& [name, lock] : locks_) {
        const bool contended =
            std::any_of(lock.entries.begin(), lock.entries.end(), [key](const auto& each) {
                return !each.second.granted && each.second.session != key;
            });
        const auto add = [&, name = name](const lock_entry& entry) {
            if (entry.session != key || found.places.size() == limit)
                return;
            auto& place = found.places.emplace_back();
            place.entry = entry;
            place.entry.name = name;
            place.contended = contended;
        };
        if (lock.row.holder != 0) {
            lock_entry holder;
            holder.granted = true;
            holder.session = lock.row.holder;
            holder.id = lock.row.request;
            holder.token = lock.row.base << fencing_token::sequence_bits;
            const auto since = clock::time_point(std::chrono::microseconds(lock.row.base));
            holder.since = std::min(since, now);
            add(holder);
        }
        for (const auto& [ordinal, entry] : lock.entries)
            add(entry);
    }
    return found;
}

result<std::vector<sql_lock>>
sql_tables::list(clock::time_point now, const std::string& after, std::size_t limit) const {
    std::vector<sql_lock> found;
    for (auto at = locks_.upper_bound(after); at != locks_.end() && found.size() < limit; ++at) {
        if (at->second.row.holder != 0 || !at->second.entries.empty())
            found.push_back(read(at->first, at->second, now));
    }
    return found;
}

result<std::vector<break_record>>
sql_tables::breaks(const std::string& name, std::size_t limit) const {
    std::vector<break_record> found;
    for (auto each = breaks_.rbegin(); each != breaks_.rend() && found.size() < limit; ++each) {
        if (name.empty() || each->name == name)
            found.push_back(*each);
    }
    return found;
}

error_code sql_tables::watch(clock::time_point now, sql_actor actor) {
    if (!acts(actor, now))
        return errc::session_lost;
    if (!std::exchange(sessions_.at(actor.key).watches, true))
        ++watched_;
    return {};
}

result<std::vector<store_finding>> sql_tables::examine() const {
    std::vector<store_finding> found;
    const auto add = [&found](const char* subject, std::string text) {
        found.emplace_back();
        found.back().subject = subject;
        found.back().found = std::move(text);
    };
    add("reach", "A model of a SQL server, for tests.");
    add("tokens", "Tokens grow over all that the server forgets.");
    add("sessions", std::to_string(sessions_.size()) + " sessions.");
    return found;
}

void sql_tables::lose_unlogged(clock::time_point now) {
    incarnation_ = random_id::draw();
    watched_ = 0;
    sessions_.clear();
    locks_.clear();
    // Sessions note a minute in advance until when they may be believed in.
    for (const auto& [ttl, until] : believed_)
        floor_ = std::max(floor_, clock_base(until + std::chrono::minutes(1)));
    if (MORTISE_PLANTED(restart_without_quarantine))
        return;
    std::chrono::milliseconds longest{};
    for (const auto& [ttl, until] : believed_) {
        if (!core::is_over(until, now))
            longest = std::max(longest, ttl);
    }
    quarantine_until_ = core::quarantine_end(core::deadline_after(now, longest), longest, now);
}

std::size_t sql_tables::entries_of(const stored_lock& lock, session_key session, request_id id) {
    const auto others =
        std::count_if(lock.entries.begin(), lock.entries.end(), [&](const auto& each) {
            return each.second.session == session && each.second.id == id;
        });
    const bool holds = lock.row.holder == session && lock.row.request == id;
    return static_cast<std::size_t>(others) + (holds ? 1u : 0u);
}

std::size_t sql_tables::parties() const {
    std::size_t count = 0;
    for (const auto& [name, lock] : locks_)
        count += lock.entries.size() + (lock.row.holder != 0 ? 1 : 0);
    return count;
}

}  // namespace mortise::sql_model
