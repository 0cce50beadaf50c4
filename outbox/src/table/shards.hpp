// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_SHARDS_HPP
#define MORTISE_OUTBOX_SRC_TABLE_SHARDS_HPP

#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/outbox/mark.hpp"
#include "mortise/outbox/relay_stats.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mortise::outbox::table {

/// The relay that works on a shard. The table accepts only the last one that took it.
class holder {
public:
    holder() = default;  // declared: no aggregate (docs/compilers.md, G3)
    holder(std::uint32_t of, fencing_token held) : shard(of), epoch(held) {}

    std::uint32_t shard = 0;
    fencing_token epoch;  ///< The token of its lock; else a count, in the empty domain.
};

/// What the table remembers of a shard. The sink knows more, except what it forgot.
class shadow {
public:
    shadow() = default;

    mark last;
    std::string sink;   ///< The identity of the shard's sink; empty: none yet.
    std::string place;  ///< Where the mark is at the sink.
};

/// A shard as its relay takes it over.
class takeover {
public:
    takeover() = default;

    holder by;
    shadow known;
    bool done = false;          ///< All rows are published, and no more will come.
    bool others_first = false;  ///< Shards of an earlier layout are not done yet.
    bool refused = false;       ///< The last relay refused to go on.
};

/// A shard of any layout that is not done.
class open_shard {
public:
    open_shard() = default;

    std::uint32_t shard = 0;
    std::int64_t marked = 0;  ///< The row of the table's mark.
    std::int64_t last = 0;    ///< The last row; not above `marked` if there is none.
    bool away = false;        ///< Its relay looks for topics of parked messages.
};
std::vector<open_shard> open_shards(db::connection& on);

/// The table's data for the row of a sink's mark.
class mark_place {
public:
    mark_place() = default;

    std::optional<std::string> message;  ///< The id of the message in that row, if the row exists.
    std::int64_t last_row = 0;           ///< The highest number that was ever given.
};
mark_place find_mark(db::connection& on, std::uint32_t shard, std::int64_t row);

/// Takes the shard over.
///
/// @param held The token of its lock; an empty one takes the shard from any holder.
/// @return `superseded` if another relay has it with a higher token of the same domain.
result<takeover> take(db::connection& on, std::uint32_t shard, const fencing_token& held);

/// Stores how far the shard was sent. Deletes rows before the mark, and rows of done shards, that
/// were written before `written_before`, at most `limit`. The row of the mark stays.
/// @return how many were deleted, or `superseded`, also after a `rebase`.
result<std::size_t> purge(
    db::connection& on,
    const holder& by,
    const shadow& now,
    std::int64_t written_before,
    std::size_t limit
);

/// Marks the shard as done if it is of an earlier layout and has no rows after the mark.
/// @return whether it is done now, or `superseded`.
result<bool> finish(db::connection& on, const holder& by, const shadow& now);

/// Stores the sink of the shard. @return `superseded`, or no error.
error_code bind_to_sink(db::connection& on, const holder& by, const std::string& sink);

/// Removes the refusal of an earlier relay. @return `superseded`, or no error.
error_code accept(db::connection& on, const holder& by);

/// Stores why a relay refuses to go on, and the sink's mark.
/// @return `superseded`, or no error.
error_code refuse(
    db::connection& on, const holder& by, const std::string& why, const std::optional<mark>& seen
);

/// Whether shards of an earlier layout are not done yet.
bool others_first(db::connection& on, std::uint32_t shard);
/// Reads what the table remembers of the shard.
shadow known_of(db::connection& on, std::uint32_t shard);

/// Whether this relay still works on the shard.
bool holds(db::connection& on, const holder& by);

/// Measures what waits.
///
/// @param sent For each shard, the last row known to be sent, where that is newer than the table's
///             mark.
relay_lag lag_after(db::connection& on, const std::map<std::uint32_t, std::int64_t>& sent);

}  // namespace mortise::outbox::table

#endif
