// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_SCHEMA_HPP
#define MORTISE_OUTBOX_SRC_TABLE_SCHEMA_HPP

#include "mortise/db/connection.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::outbox::table {

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

}  // namespace mortise::outbox::table

#endif
