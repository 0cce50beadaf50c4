// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_ROWS_HPP
#define MORTISE_OUTBOX_SRC_TABLE_ROWS_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/message.hpp"
#include "mortise/outbox/sink.hpp"
#include "table/slot.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::outbox::table {

/// Columns of every table that has messages.
#define MORTISE_OUTBOX_COLUMNS "message_id, topic, key, payload, headers, written"
/// In a statement that adds a row after `count_row`: its slot; the hash is the parameter ?1.
#define MORTISE_OUTBOX_NEW_SLOT                                                                    \
    MORTISE_OUTBOX_SLOT(                                                                           \
        "(SELECT first_shard + ?1 % shards FROM mortise_outbox_layout"                             \
        " ORDER BY first_shard DESC LIMIT 1)",                                                     \
        "(SELECT last_row FROM mortise_outbox_counter)"                                            \
    )

/// Draws the number of a new row.
void count_row(db::connection& on);

/// What decides about the shard of a message: messages without a key go anywhere.
std::uint32_t hash_of(std::string_view id, const std::optional<std::string>& key) noexcept;

/// Binds the next five parameters: id, topic, key, payload, headers.
void bind_message(db::statement& to, const message& what);

/// Into the shard of its key, in the newest layout.
void insert(db::connection& on, const message& what, std::int64_t written);
/// Whether the id was remembered and is to be refused until a later time than `now`.
bool is_id_taken(db::connection& on, std::string_view id, std::int64_t now);
/// Remembers it until `end`, and forgets some of those that need not be remembered any more.
void take_id(db::connection& on, std::string_view id, std::int64_t now, std::int64_t end);

/// A row that is written anew, at the end.
struct moved_row {
    std::int64_t row = 0;
    std::optional<std::int64_t> slot;  ///< None: it is parked.
    std::uint32_t hash = 0;
};

/// Moves waiting and parked rows to the end of those that wait, in the order of their numbers.
void move_to_end(db::connection& on, std::vector<moved_row> all);

/// Not to be sent before `due`.
void insert_later(db::connection& on, const message& what, std::int64_t due);

/// Moves messages that are due to those that are to be sent, the earliest first, at most `limit`.
/// @return how many.
std::size_t move_due(db::connection& on, std::int64_t now, std::size_t limit);
/// When the next one is due.
std::optional<std::int64_t> next_due(db::connection& on);

/// What is to be sent next.
class batch {
public:
    batch() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::vector<outgoing> rows;
    /// The last row of those, or one after it that was discarded: the mark goes there. Zero: there
    /// is neither.
    std::int64_t last_row = 0;
    std::string last_message;
    /// These stand behind a message of their key that is parked.
    std::vector<std::int64_t> blocked;
    std::vector<std::int64_t> corrupt;  ///< These cannot be read.
    bool more = false;                  ///< It was cut off: there may be more.
    std::uint32_t newest_layout = 0;
    std::optional<std::int64_t> next_due;
};

/// The rows of the shard after that one, in their order: at most `rows_max`, and no more than the
/// first of them that brings it to `bytes_max`.
batch read(
    db::connection& on,
    std::uint32_t shard,
    std::int64_t after,
    std::size_t rows_max,
    std::size_t bytes_max
);

/// The id of the message in that row of the shard, if it is there.
std::optional<std::string> message_in(db::connection& on, std::uint32_t shard, std::int64_t row);

/// The last row of the shard; zero if there is none.
std::int64_t last_row(db::connection& on, std::uint32_t shard);

/// The message in the row that the statement stands at; `column` is that of its id, and topic, key,
/// payload, headers follow. Nothing if the row contradicts itself.
std::optional<message> message_at(const db::statement& row, int column);
/// The same of a row whose headers cannot be read.
message without_headers_at(const db::statement& row, int column);

}  // namespace mortise::outbox::table

#endif
