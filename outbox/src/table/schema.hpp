// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_SCHEMA_HPP
#define MORTISE_OUTBOX_SRC_TABLE_SCHEMA_HPP

#include "mortise/db/connection.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::outbox::table {

/// Makes what is missing of the tables, in the transaction that is open, and brings those of an
/// older version up to date:
///
/// | table | a row for |
/// | --- | --- |
/// | `mortise_outbox` | each message that is to be sent, or was and is not purged |
/// | `mortise_outbox_later` | each message that is not due yet |
/// | `mortise_outbox_parked` | each message that cannot be sent, and those of its key behind it |
/// | `mortise_outbox_id` | each id that was appended on condition that it is new, for a time |
/// | `mortise_outbox_shard` | each shard, also of before: how far it was sent, and by whom |
/// | `mortise_outbox_layout` | each number of shards that there was, and is, with a random id |
/// | `mortise_outbox_counter` | one with the number of the last row that there was |
/// | `mortise_outbox_about` | the format, the random id |
///
/// @return whether anything was to be done.
/// @throws error `newer_format`.
bool make(db::connection& on);

/// @throws error `not_an_outbox`, `newer_format`, `older_format`.
void require(db::connection& on);

/// The random id of the message table, which `require` has found.
std::string id_of(db::connection& on);

/// Adds a layout of so many shards for the rows that come.
/// @throws error `bad_shards` if there were too many layouts.
void add_layout(db::connection& on, std::uint32_t shards);

/// The highest number that a row has had; zero if there was none.
std::int64_t last_number(db::connection& on);

/// The shard number with which the newest layout begins.
std::uint32_t newest_layout(db::connection& on);

/// Has the relays hear of it when the transaction is committed.
void ring_after_commit(db::connection& on);

/// The path of the database file of a connection.
std::string path_of(const db::connection& on);

}  // namespace mortise::outbox::table

#endif
