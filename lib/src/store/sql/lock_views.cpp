// SPDX-License-Identifier: BSL-1.0
#include "store/break_note.hpp"
#include "store/sql/loaded_rows.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {
namespace {

party_view describe(const loaded_rows& rows, const core::lock_entry& entry) {
    const auto now = rows.loaded().now;
    party_view party;
    if (const auto* const known = rows.party_of(entry.session)) {
        party.session = known->id;
        party.host = known->host;
        party.label = known->label;
        party.pid = known->pid;
        party.left = known->left;
    }
    if (entry.granted && entry.ends() != clock::time_point::max())
        party.left = std::min(party.left, entry.ends() - now);
    party.mode = entry.mode;
    party.hold_max = entry.hold_max;
    party.slot = entry.slot;
    party.age = now - entry.since;
    return party;
}

}  // namespace

std::optional<lock_view> view_of(const sql_lock& loaded, std::size_t queue_max) {
    loaded_rows rows(loaded);
    lock_view view;
    view.name = loaded.name;
    for (const auto& entry : rows.holders(loaded.name)) {
        if (!rows.shows(entry))
            continue;
        view.holders.push_back(describe(rows, entry));
        view.holders.back().token = {entry.token, loaded.domain.of_slot(entry.slot)};
    }
    for (const auto& [ordinal, entry] : rows.waiting()) {
        if (!rows.shows(entry))
            continue;
        ++view.waiter_count;
        if (view.waiters.size() < queue_max)
            view.waiters.push_back(describe(rows, entry));
    }
    if (view.holders.empty() && view.waiter_count == 0)
        return std::nullopt;
    return view;
}

std::vector<party_view> holders_of(loaded_rows& rows, std::uint64_t token, std::uint32_t slot) {
    std::vector<party_view> found;
    for (const auto& entry : rows.holders(rows.loaded().name)) {
        if (entry.token == token && entry.slot == slot && rows.shows(entry) &&
            found.size() < holders_named)
            found.push_back(describe(rows, entry));
    }
    return found;
}

}  // namespace mortise::store_detail
