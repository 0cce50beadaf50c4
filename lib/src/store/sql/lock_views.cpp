// SPDX-License-Identifier: BSL-1.0
#include "core/entry_views.hpp"
#include "store/break_note.hpp"
#include "store/sql/loaded_rows.hpp"

namespace mortise::store_detail {
namespace {

party_view describe(const loaded_rows& rows, const core::lock_entry& entry) {
    const auto& [key, owner, dead, deadline] = *rows.party_of(entry.session);
    return core::party_of(entry, owner, deadline, rows.loaded().domain, rows.loaded().now);
}

}  // namespace

std::optional<lock_view> view_of(const sql_lock& loaded, std::size_t queue_max) {
    loaded_rows rows(loaded);
    lock_view view;
    view.name = loaded.name;
    for (const auto* const queue : {&rows.granted(), &rows.waiting()}) {
        for (const auto& [ordinal, entry] : *queue) {
            if (!rows.shows(entry))
                continue;
            if (auto* const shown = core::place_in(view, entry.granted, queue_max))
                shown->push_back(describe(rows, entry));
        }
    }
    if (view.holders.empty() && view.waiter_count == 0)
        return std::nullopt;
    return view;
}

std::vector<party_view> holders_of(loaded_rows& rows, std::uint64_t token, std::uint32_t slot) {
    std::vector<party_view> found;
    for (const auto& [ordinal, entry] : rows.granted()) {
        if (entry.token == token && entry.slot == slot && rows.shows(entry) &&
            found.size() < holders_named)
            found.push_back(describe(rows, entry));
    }
    return found;
}

}  // namespace mortise::store_detail
