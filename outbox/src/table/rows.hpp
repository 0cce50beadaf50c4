// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_ROWS_HPP
#define MORTISE_OUTBOX_SRC_TABLE_ROWS_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/message.hpp"
#include "mortise/outbox/sink.hpp"
#include "table/schema.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::outbox::table {

/// The slot of a new row, in a statement after `count_row`; the hash is the parameter ?1.
#define MORTISE_OUTBOX_NEW_SLOT                                                                    \
    MORTISE_OUTBOX_SLOT(                                                                           \
        "(SELECT first_shard + ?1 % shards FROM mortise_outbox_layout"                             \
        " ORDER BY first_shard DESC LIMIT 1)",                                                     \
        "(SELECT last_row FROM mortise_outbox_counter)"                                            \
    )

/// Draws the number of a new row.
void count_row(db::connection& on);

/// Inserts a row into the shard of its key, in the newest layout.
void insert(db::connection& on, const message& message, std::int64_t written);
/// Whether the id is remembered and must be refused at `now`.
bool is_id_taken(db::connection& on, std::string_view id, std::int64_t now);
/// Remembers the id until `end`, and forgets some ids that have expired.
void take_id(db::connection& on, std::string_view id, std::int64_t now, std::int64_t end);

/// A row that is written anew, at the end.
struct moved_row {
    std::int64_t row = 0;
    std::optional<std::int64_t> slot;  ///< None: it is parked.
    std::uint32_t hash = 0;
};

/// Moves waiting and parked rows behind all waiting rows, in the order of their numbers.
void move_to_end(db::connection& on, std::vector<moved_row> all);

/// Stores a message that must not be sent before `due`.
void insert_later(db::connection& on, const message& message, std::int64_t due);

/// Turns due messages into rows, the earliest first, at most `limit`.
/// @return how many.
std::size_t move_due(db::connection& on, std::int64_t now, std::size_t limit);
/// The earliest time at which a message becomes due.
std::optional<std::int64_t> next_due(db::connection& on);

/// The rows to send next.
class batch {
public:
    batch() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::vector<outgoing> rows;
    /// The last row that the mark covers: the last of `rows`, or a discarded row after it. Zero:
    /// there is neither.
    std::int64_t last_row = 0;
    std::string last_message;
    /// Rows that wait behind a parked row of their key.
    std::vector<std::int64_t> blocked;
    std::vector<std::int64_t> corrupt;  ///< Rows that cannot be read.
    bool more = false;                  ///< The read was cut off: there may be more.
    std::uint32_t newest_layout = 0;
    std::optional<std::int64_t> next_due;
};

/// Reads the rows of the shard after a row, in order: at most `rows_max`, and no more after the
/// first row with which they reach `bytes_max`.
batch read(
    db::connection& on,
    std::uint32_t shard,
    std::int64_t after,
    std::size_t rows_max,
    std::size_t bytes_max
);

/// The id of the message in that row of the shard, if the row exists.
std::optional<std::string> message_in(db::connection& on, std::uint32_t shard, std::int64_t row);

/// The last row of the shard; zero if there is none.
std::int64_t last_row(db::connection& on, std::uint32_t shard);

}  // namespace mortise::outbox::table

#endif
