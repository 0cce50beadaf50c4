// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_PARKED_HPP
#define MORTISE_OUTBOX_SRC_TABLE_PARKED_HPP

#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "table/shards.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mortise::outbox::table {

class poison_row {
public:
    poison_row() = default;  // declared: no aggregate (docs/compilers.md, G3)
    poison_row(std::int64_t number, std::string why, bool has_no_topic = false)
        : row(number), reason(std::move(why)), away(has_no_topic) {}

    std::int64_t row = 0;
    std::string reason;
    bool away = false;  ///< Its topic is missing: see `send_returned`.
};

/// Moves rows that cannot be sent out of the way. Later rows with the same topic and key are
/// blocked from then on.
/// @return how many were moved, or `superseded`.
result<std::size_t>
park(db::connection& on, const holder& by, const std::vector<poison_row>& poison);

/// Moves rows that are blocked by parked ones, if they still are.
/// @return how many were moved, or `superseded`.
result<std::size_t>
park_blocked(db::connection& on, const holder& by, const std::vector<std::int64_t>& rows);

/// A topic that was missing when messages to it were parked.
class away_topic {
public:
    away_topic() = default;  // declared: no aggregate (docs/compilers.md, G3)
    away_topic(std::uint32_t of, std::string name) : shard(of), topic(std::move(name)) {}

    std::uint32_t shard = 0;  ///< The shard of these messages.
    std::string topic;
};

/// Finds such topics of this shard, and of done shards, which no other relay watches: at most 100.
std::vector<away_topic> away_topics(db::connection& on, std::uint32_t shard);

/// The state of a walk over the messages to such a topic. Messages that are parked during the walk
/// do not belong to it, or it would never end if they are refused again.
class returned_walk {
public:
    returned_walk() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::size_t sent = 0;   ///< How many rows it has moved so far.
    std::int64_t next = 0;  ///< The first row of the next portion.
    std::int64_t end = 0;   ///< The last row of the walk; zero before the first portion.
    bool more = false;      ///< There may be another portion.
};

/// Returns messages that were parked for a missing topic, when the topic exists again. Moves a
/// portion of at most `limit` of them behind all waiting rows. Everything that waits behind them
/// moves along, in the order in which it was written. A key moves completely. A key whose first
/// message was parked for another reason stays: nothing of it may be sent before that message.
/// @param sent The last row of the shard of `by` that is known to be sent.
/// @return the walk after that portion, or `superseded` if another relay has the shard of `by`.
result<returned_walk> send_returned(
    db::connection& on,
    const holder& by,
    std::int64_t sent,
    const away_topic& topic,
    returned_walk walk,
    std::size_t limit
);

}  // namespace mortise::outbox::table

#endif
