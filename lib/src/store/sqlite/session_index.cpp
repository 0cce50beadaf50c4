// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/session_index.hpp"

#include "sqlite/query.hpp"
#include "sqlite/sqlite_db.hpp"
#include "store/sqlite/slot_file.hpp"

namespace mortise::store_detail {

using sqlite_detail::sqlite_db;
using sqlite_detail::sqlite_query;

std::optional<session_index::place>
session_index::find(sqlite_db& db, const slot_file& slots, core::session_key session) {
    if (const auto found = known_.find(session); found != known_.end()) {
        const slot_view seen = slots.view(found->second);
        if (seen.key == session)
            return place{found->second, seen.nonce};
        known_.erase(found);
    }
    sqlite_query query(db, "SELECT slot, nonce FROM session WHERE key = ?");
    if (!query.bind(session).step() || query.number(0) >= slot_file::capacity)
        return std::nullopt;
    const auto slot = static_cast<std::size_t>(query.number(0));
    const slot_view seen = slots.view(slot);
    if (seen.key != session || seen.nonce != query.number(1))
        return std::nullopt;
    if (known_.size() >= known_max)
        known_.clear();
    known_.emplace(session, slot);
    return place{slot, seen.nonce};
}

}  // namespace mortise::store_detail
