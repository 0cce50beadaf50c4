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

/// The state of a walk over the messages to such a topic.
class returned_portion {
public:
    returned_portion() = default;

    std::size_t sent = 0;   ///< How many rows will be sent again.
    std::int64_t next = 0;  ///< Where the next portion begins.
    bool more = false;      ///< There may be another portion.
};

/// Returns messages that were parked for a missing topic, when the topic exists again. Moves the
/// first `limit` of them, from row `from` on, behind all waiting rows. Everything that waits behind
/// them moves along, in the order in which it was written. A key moves completely. A key whose
/// first message was parked for another reason stays: nothing of it may be sent before that
/// message.
/// @return `superseded` if another relay has the shard of `by`.
result<returned_portion> send_returned(
    db::connection& on,
    const holder& by,
    const away_topic& topic,
    std::int64_t from,
    std::size_t limit
);

}  // namespace mortise::outbox::table

#endif
