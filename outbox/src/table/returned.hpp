// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_RETURNED_HPP
#define MORTISE_OUTBOX_SRC_TABLE_RETURNED_HPP

#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "table/shards.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mortise::outbox::table {

/// A topic that was away when messages to it were parked.
class away_topic {
public:
    away_topic() = default;  // declared: no aggregate (docs/compilers.md, G3)
    away_topic(std::uint32_t of, std::string name) : shard(of), topic(std::move(name)) {}

    std::uint32_t shard = 0;  ///< Whose messages these are.
    std::string topic;
};

/// Those of this shard, and of shards that are done, after which nobody else looks: at most 100.
std::vector<away_topic> away_topics(db::connection& on, std::uint32_t shard);

/// How far a walk over the messages to such a topic is.
class returned_portion {
public:
    returned_portion() = default;

    std::size_t sent = 0;   ///< So many rows are to be sent again.
    std::int64_t next = 0;  ///< Where the next portion begins.
    bool more = false;      ///< There may be one.
};

/// The topic is back. Moves messages that were parked as it was away to the end of those that are
/// to be sent, the first `limit` from row `from` on, with all that waits behind them, in the order
/// in which it was written. A key goes as a whole. One whose first message was parked for another
/// reason stays: nothing of it may be sent before that one.
/// @return `superseded` if somebody else has the shard of `by`.
result<returned_portion> send_returned(
    db::connection& on,
    const holder& by,
    const away_topic& which,
    std::int64_t from,
    std::size_t limit
);

}  // namespace mortise::outbox::table

#endif
