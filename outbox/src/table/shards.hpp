// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_SHARDS_HPP
#define MORTISE_OUTBOX_SRC_TABLE_SHARDS_HPP

#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/outbox/mark.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::outbox::table {

/// Who works on a shard: the table listens to the last one that took it, and to no other.
class holder {
public:
    holder() = default;  // declared: no aggregate (docs/compilers.md, G3)
    holder(std::uint32_t of, fencing_token held) : shard(of), epoch(held) {}

    std::uint32_t shard = 0;
    fencing_token epoch;  ///< That of its lock; without one a count, in the empty domain.
};

/// What the table remembers of a shard. What the sink remembers is newer, but for what it forgot.
class shadow {
public:
    shadow() = default;

    mark last;
    std::string sink;   ///< The identity of the sink that it went to; empty: of none yet.
    std::string place;  ///< Where the mark lies there.
};

class claim {
public:
    claim() = default;

    holder by;
    shadow known;
    bool done = false;          ///< All of it is published, and nothing more will come.
    bool others_first = false;  ///< Shards of an earlier layout are not done yet.
    bool refused = false;       ///< The one before did not go on.
};

/// A shard that is not done, of whatever layout.
class open_shard {
public:
    open_shard() = default;

    std::uint32_t shard = 0;
    std::int64_t marked = 0;  ///< The row of the table's mark.
    std::int64_t last = 0;    ///< The last row that there is; not more than `marked` if none is.
    bool away = false;        ///< Its relay looks for topics of messages that are parked.
};
std::vector<open_shard> open_shards(db::connection& on);

/// What the table has where a mark at the sink stands.
class mark_place {
public:
    mark_place() = default;

    std::optional<std::string> message;  ///< The id of the one in its row, if there is that row.
    std::int64_t last_row = 0;           ///< The highest number that any row has had.
};
mark_place find_mark(db::connection& on, std::uint32_t shard, std::int64_t row);

/// Takes the shard over.
///
/// @param held the token of its lock; an empty one takes it from whoever has it
/// @return `superseded` if somebody has it with a higher token of the same domain.
result<claim> take(db::connection& on, std::uint32_t shard, const fencing_token& held);

/// Remembers how far the shard was sent, and forgets rows before the mark that were written before
/// `written_before`, and those of shards that are done, at most `limit`; the row of the mark stays.
/// @return how many were forgotten, or `superseded`, also after a `rebase`.
result<std::size_t> purge(
    db::connection& on,
    const holder& by,
    const shadow& now,
    std::int64_t written_before,
    std::size_t limit
);

/// If the shard is of an earlier layout and has no rows after the mark: nothing more will come.
/// @return whether it is done now, or `superseded`.
result<bool> finish(db::connection& on, const holder& by, const shadow& now);

/// Remembers to which sink the shard goes. @return `superseded`, or none.
error_code bind_to_sink(db::connection& on, const holder& by, const std::string& sink);

/// Forgets that a relay did not go on. @return `superseded`, or none.
error_code accept(db::connection& on, const holder& by);

/// Remembers why a relay does not go on, and what the sink's mark was.
/// @return `superseded`, or none.
error_code refuse(
    db::connection& on, const holder& by, const std::string& why, const std::optional<mark>& seen
);

/// Whether shards of an earlier layout are not done yet.
bool others_first(db::connection& on, std::uint32_t shard);
/// What the table remembers of the shard.
shadow known_of(db::connection& on, std::uint32_t shard);

/// Whether it is still this one that works on the shard.
bool holds(db::connection& on, const holder& by);

}  // namespace mortise::outbox::table

#endif
