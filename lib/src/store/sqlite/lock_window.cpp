// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/lock_window.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using core::lock_entry;
using core::session_key;

namespace {

bool stands_before(const lock_entry& a, const lock_entry& b) noexcept {
    return std::pair(!a.granted, a.ordinal) < std::pair(!b.granted, b.ordinal);
}

}  // namespace

lock_window::lock_window(std::string name, std::vector<lock_entry> first, bool whole)
    : name_(std::move(name)), entries_(std::move(first)), whole_(whole) {}

// Whether all holders are in sight: a waiter stands behind the last of them, or nothing is out of
// sight.
bool lock_window::all_holders() const noexcept {
    return whole_ || (!entries_.empty() && !entries_.back().granted);
}

lock_window::found lock_window::find(session_key session, request_id id) const {
    const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const lock_entry& each) {
        return each.session == session && each.id == id;
    });
    if (it != entries_.end())
        return found(*it);
    return whole_ ? found(std::optional<lock_entry>()) : std::nullopt;
}

lock_window::found lock_window::next(bool granted, std::uint64_t after) const {
    const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const lock_entry& each) {
        return each.granted == granted && each.ordinal > after;
    });
    if (it != entries_.end())
        return found(*it);
    if (whole_ || (granted && all_holders()))
        return found(std::optional<lock_entry>());
    return std::nullopt;
}

std::optional<std::uint64_t> lock_window::last_ordinal(bool granted) const noexcept {
    if (granted ? !all_holders() : !whole_)
        return std::nullopt;
    std::uint64_t last = 0;
    for (const auto& each : entries_)
        last = each.granted == granted ? each.ordinal : last;
    return last;
}

std::optional<std::vector<lock_entry>> lock_window::holders() const {
    if (!all_holders())
        return std::nullopt;
    std::vector<lock_entry> all;
    for (const auto& each : entries_) {
        if (each.granted)
            all.push_back(each);
    }
    return all;
}

std::optional<std::uint64_t> lock_window::holder_count() const noexcept {
    if (!all_holders())
        return std::nullopt;
    const auto count = std::count_if(entries_.begin(), entries_.end(), [](const auto& each) {
        return each.granted;
    });
    return static_cast<std::uint64_t>(count);
}

std::optional<bool> lock_window::others_wait(session_key session) const noexcept {
    const bool others = std::any_of(entries_.begin(), entries_.end(), [session](const auto& each) {
        return !each.granted && each.session != session;
    });
    return others || whole_ ? std::optional(others) : std::nullopt;
}

std::optional<std::uint32_t> lock_window::capacity() const noexcept {
    for (const auto& each : entries_) {
        if (each.mode.capacity() != 0)
            return each.mode.capacity();
    }
    return whole_ ? std::optional(std::uint32_t{0}) : std::nullopt;
}

// Leaves out an entry that would be the last one in sight: others before it may be out of sight.
void lock_window::insert(const lock_entry& entry) {
    const auto place = std::lower_bound(entries_.begin(), entries_.end(), entry, stands_before);
    if (whole_ || place != entries_.end())
        entries_.insert(place, entry);
}

void lock_window::erase(const lock_entry& entry) {
    std::erase_if(entries_, [&](const lock_entry& each) {
        return each.granted == entry.granted && each.ordinal == entry.ordinal;
    });
}

void lock_window::grant(const lock_entry& entry) {
    lock_entry waiting = entry;
    waiting.granted = false;
    erase(waiting);
    insert(entry);
}

}  // namespace mortise::store_detail
