// SPDX-License-Identifier: BSL-1.0
#include "core/lock_rows.hpp"

namespace mortise::core {

std::optional<lock_entry> lock_rows::first(
    std::string_view name, bool granted, const std::function<bool(const lock_entry&)>& fits
) {
    auto entry = next(name, granted, 0);
    while (entry && !fits(*entry))
        entry = next(name, granted, entry->ordinal);
    return entry;
}

std::optional<lock_entry>
lock_rows::find(std::string_view name, session_key session, request_id id) {
    const auto same = [&](const lock_entry& each) {
        return each.session == session && each.id == id;
    };
    const auto granted = first(name, true, same);
    return granted ? granted : first(name, false, same);
}

std::uint64_t lock_rows::last_ordinal(std::string_view name, bool granted) {
    std::uint64_t last = 0;
    first(name, granted, [&](const lock_entry& each) {
        last = each.ordinal;
        return false;
    });
    return last;
}

std::vector<lock_entry> lock_rows::holders(std::string_view name) {
    std::vector<lock_entry> found;
    first(name, true, [&](const lock_entry& each) {
        found.push_back(each);
        return false;
    });
    return found;
}

std::uint64_t lock_rows::holder_count(std::string_view name) {
    return holders(name).size();
}

bool lock_rows::others_wait(std::string_view name, session_key session) {
    const auto other = [&](const lock_entry& each) { return each.session != session; };
    return first(name, false, other).has_value();
}

std::uint32_t lock_rows::capacity_of(std::string_view name) {
    const auto of_permits = [](const lock_entry& each) { return each.mode.capacity() != 0; };
    auto any = first(name, true, of_permits);
    if (!any)
        any = first(name, false, of_permits);
    return any ? any->mode.capacity() : 0;
}

void lock_rows::set_hold_max(const lock_entry& granted, std::chrono::milliseconds hold_max) {
    lock_entry changed = granted;
    changed.hold_max = hold_max;
    erase(granted);
    insert(changed);
}

}  // namespace mortise::core
