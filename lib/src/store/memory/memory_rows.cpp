// SPDX-License-Identifier: BSL-1.0
#include "store/memory/memory_rows.hpp"

#include "mortise/coro/assert.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using core::lock_entry;
using core::presence;
using core::session_key;

memory_rows::queue* memory_rows::queue_of(std::string_view name, bool granted) {
    const auto found = locks.find(name);
    if (found == locks.end())
        return nullptr;
    return granted ? &found->second.granted : &found->second.waiting;
}

std::optional<lock_entry>
memory_rows::find(std::string_view name, session_key session, request_id id) {
    auto entry = find(session, id);
    return entry && entry->name == name ? std::move(entry) : std::nullopt;
}

std::optional<lock_entry> memory_rows::find(session_key session, request_id id) {
    const auto place = places.find({session, id});
    if (place == places.end())
        return std::nullopt;
    const auto& [name, ordinal] = place->second;
    for (const bool granted : {true, false}) {
        const auto* entries = queue_of(name, granted);
        const auto entry = entries->find(ordinal);
        if (entry != entries->end())
            return entry->second;
    }
    return std::nullopt;
}

std::optional<lock_entry>
memory_rows::next(std::string_view name, bool granted, std::uint64_t after) {
    const auto* entries = queue_of(name, granted);
    if (!entries)
        return std::nullopt;
    const auto entry = entries->upper_bound(after);
    if (entry == entries->end())
        return std::nullopt;
    return entry->second;
}

std::uint64_t memory_rows::last_ordinal(std::string_view name, bool granted) {
    const auto* entries = queue_of(name, granted);
    return entries && !entries->empty() ? entries->rbegin()->first : 0;
}

std::vector<lock_entry> memory_rows::holders(std::string_view name) {
    std::vector<lock_entry> all;
    if (const auto* entries = queue_of(name, true)) {
        for (const auto& [ordinal, entry] : *entries)
            all.push_back(entry);
    }
    return all;
}

std::uint64_t memory_rows::holder_count(std::string_view name) {
    const auto* entries = queue_of(name, true);
    return entries ? entries->size() : 0;
}

bool memory_rows::others_wait(std::string_view name, session_key session) {
    const auto* entries = queue_of(name, false);
    return entries && std::any_of(entries->begin(), entries->end(), [session](const auto& each) {
               return each.second.session != session;
           });
}

std::uint32_t memory_rows::capacity_of(std::string_view name) {
    const auto found = locks.find(name);
    return found != locks.end() && found->second.permits != 0 ? found->second.capacity : 0;
}

std::optional<lock_entry> memory_rows::next_ended(clock::time_point at) {
    if (ends.empty() || ends.begin()->first > at)
        return std::nullopt;
    const auto& [session, id] = ends.begin()->second;
    return find(session, id);
}

clock::time_point memory_rows::next_end(session_key but_of) const {
    const auto found = std::find_if(ends.begin(), ends.end(), [but_of](const auto& each) {
        return each.second.first != but_of;
    });
    return found == ends.end() ? clock::time_point::max() : found->first;
}

void memory_rows::note_end(const lock_entry& entry) {
    if (entry.ends() != clock::time_point::max())
        ends.insert({entry.ends(), {entry.session, entry.id}});
}

void memory_rows::insert(const lock_entry& entry) {
    ++changes;
    auto& lock = locks[entry.name];
    (entry.granted ? lock.granted : lock.waiting).emplace(entry.ordinal, entry);
    places[{entry.session, entry.id}] = {entry.name, entry.ordinal};
    if (entry.mode.capacity() != 0) {
        ++lock.permits;
        lock.capacity = entry.mode.capacity();
    }
    note_end(entry);
}

void memory_rows::erase(const lock_entry& entry) {
    ++changes;
    const auto lock = locks.find(entry.name);
    MORTISE_ASSERT(lock != locks.end());
    auto& entries = entry.granted ? lock->second.granted : lock->second.waiting;
    entries.erase(entry.ordinal);
    places.erase({entry.session, entry.id});
    ends.erase({entry.ends(), {entry.session, entry.id}});
    if (entry.mode.capacity() != 0)
        --lock->second.permits;
    if (lock->second.granted.empty() && lock->second.waiting.empty())
        locks.erase(lock);
}

void memory_rows::grant(const lock_entry& entry) {
    ++changes;
    const auto lock = locks.find(entry.name);
    MORTISE_ASSERT(lock != locks.end());
    lock->second.waiting.erase(entry.ordinal);
    lock->second.granted.emplace(entry.ordinal, entry);
    note_end(entry);
}

void memory_rows::set_hold_max(const lock_entry& granted, std::chrono::milliseconds hold_max) {
    auto& entry = locks.at(granted.name).granted.at(granted.ordinal);
    ends.erase({granted.ends(), {granted.session, granted.id}});
    entry.hold_max = hold_max;
    note_end(entry);
}

std::optional<lock_entry> memory_rows::any_of(session_key session) {
    const auto place = places.lower_bound({session, 0});
    if (place == places.end() || place->first.first != session)
        return std::nullopt;
    return find(session, place->first.second);
}

presence memory_rows::presence_of(session_key session) {
    const auto found = sessions.find(session);
    if (found == sessions.end() || core::is_over(found->second.deadline, now))
        return presence::gone;
    return found->second.unreachable ? presence::unreachable : presence::alive;
}

std::optional<core::session_terms> memory_rows::terms_of(session_key session) const {
    const auto found = sessions.find(session);
    if (found == sessions.end())
        return std::nullopt;
    return core::session_terms{found->second.start.generation, found->second.deadline};
}

void memory_rows::mark_dead(session_key session) {
    if (sessions.erase(session) != 0)
        dead.insert(session);
}

void memory_rows::prove(session_key session) {
    auto& own = sessions[session];
    own.deadline = core::deadline_after(now, own.start.ttl);
    std::erase_if(believed, [this](const auto& each) { return core::is_over(each.second, now); });
    believed[own.start.ttl] = own.deadline;
}

std::chrono::milliseconds memory_rows::longest_ttl() const {
    std::chrono::milliseconds longest{};
    for (const auto& [ttl, until] : believed) {
        if (!core::is_over(until, now))
            longest = std::max(longest, ttl);
    }
    return longest;
}

void memory_rows::clear() {
    locks.clear();
    places.clear();
    ends.clear();
    sessions.clear();
    dead.clear();
    ++changes;
}

void memory_rows::forget(session_key session) {
    dead.erase(session);
}

void memory_rows::changed(
    session_key session, std::int64_t grants, std::int64_t requests, bool unanswered
) {
    const auto found = sessions.find(session);
    if (found == sessions.end())
        return;
    found->second.grants += static_cast<std::uint64_t>(grants);
    found->second.requests += static_cast<std::uint64_t>(requests);
    if (unanswered)
        ++found->second.changes;
}

std::uint64_t memory_rows::draw_bases(std::uint64_t count) {
    const std::uint64_t first = last_base + 1;
    last_base += count;
    return first;
}

bool memory_rows::quarantined() {
    return core::quarantine_left(quarantine_until, now) > clock::duration::zero();
}

}  // namespace mortise::store_detail
