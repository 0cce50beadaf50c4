// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_SCHEMA_HPP
#define MORTISE_OUTBOX_SRC_TABLE_SCHEMA_HPP

#include "mortise/db/connection.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::outbox::table {

// The slot is the place of a row in the message table: first by shard, then by number. So the rows
// of a shard lie together, and a relay reads them in sequence. Numbers belong to the table, not to
// the shard: no two rows have the same.
constexpr int row_bits = 46;
constexpr std::int64_t rows_end = std::int64_t{1} << row_bits;
constexpr std::int64_t shards_end = std::int64_t{1} << (63 - row_bits);

// Clamps numbers that no row can have, which a mark or a user may supply, to the nearest possible
// one.
constexpr std::int64_t slot_of(std::uint32_t shard, std::int64_t row) noexcept {
    return std::min<std::int64_t>(shard, shards_end - 1) * rows_end +
           std::clamp<std::int64_t>(row, 0, rows_end - 1);
}
constexpr std::int64_t row_at(std::int64_t slot) noexcept {
    return slot % rows_end;
}

// The same in a statement.
#define MORTISE_OUTBOX_SLOT(shard, row) "((" shard " << 46) + " row ")"
#define MORTISE_OUTBOX_ROW "(slot & 0x3fffffffffff)"
#define MORTISE_OUTBOX_SHARD "(slot >> 46)"
static_assert(row_bits == 46 && rows_end == 0x3fffffffffff + 1);

/// The columns of a message, in every table of messages.
#define MORTISE_OUTBOX_COLUMNS "message_id, topic, key, payload, headers, written"

/// Creates missing tables in the open transaction, and updates those of an older format:
///
/// | table | a row for |
/// | --- | --- |
/// | `mortise_outbox` | each message that waits to be sent, or was sent and not yet purged |
/// | `mortise_outbox_later` | each message that is not due yet |
/// | `mortise_outbox_parked` | each message that cannot be sent, and those of its key behind it |
/// | `mortise_outbox_id` | each id that must be new, for a time |
/// | `mortise_outbox_shard` | each shard of any layout: how far it was sent, and to which sink |
/// | `mortise_outbox_layout` | each layout: its number of shards, with a random id |
/// | `mortise_outbox_counter` | one row, with the highest row number that was given |
/// | `mortise_outbox_about` | the format, and the random id of the table |
///
/// @return whether there was anything to do.
/// @throws error `newer_format`.
bool make(db::connection& on);

/// @throws error `not_an_outbox`, `newer_format`, `older_format`.
void require(db::connection& on);

/// The random id of the message table. Call `require` first.
std::string id_of(db::connection& on);

/// Adds a layout of so many shards for future rows.
/// @throws error `bad_shards` if too many shards were used in all.
void add_layout(db::connection& on, std::uint32_t shards);

/// The highest number that was ever given to a row; zero if there was none.
std::int64_t last_number(db::connection& on);

/// The number of the first shard in the newest layout.
std::uint32_t newest_layout(db::connection& on);

/// Wakes the relays when the transaction is committed.
void ring_after_commit(db::connection& on);

/// The path of the database file of a connection.
std::string path_of(const db::connection& on);

// For the schema of any group of tables, with a table `about` it:

/// Reads the format of the tables that `about`, a table of names and values, describes; nothing if
/// there are none.
/// @throws error `newer_format` if the format is unknown.
std::optional<std::int64_t>
format_there(db::connection& on, const std::string& about, std::int64_t newest);

/// @throws error `older_format` if the found format is not the newest.
void refuse_older(const db::connection& on, std::int64_t found, std::int64_t newest);

/// Creates the table `about` with the number of the format.
void make_about(db::connection& on, const std::string& about, std::int64_t number);

}  // namespace mortise::outbox::table

#endif
