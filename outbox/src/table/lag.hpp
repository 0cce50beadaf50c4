// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_LAG_HPP
#define MORTISE_OUTBOX_SRC_TABLE_LAG_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/relay_stats.hpp"

#include <cstdint>
#include <map>

namespace mortise::outbox::table {

/// Measures what waits.
///
/// @param sent For each shard, the last row known to be sent, where that is newer than the table's
///             mark.
relay_lag lag_after(db::connection& on, const std::map<std::uint32_t, std::int64_t>& sent);

}  // namespace mortise::outbox::table

#endif
