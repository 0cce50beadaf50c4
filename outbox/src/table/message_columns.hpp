// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_MESSAGE_COLUMNS_HPP
#define MORTISE_OUTBOX_SRC_TABLE_MESSAGE_COLUMNS_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/message.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::outbox::table {

/// The columns from the id of a message to the time at which it was written.
enum column : int { id_column, topic_column, key_column, payload_column, headers_column };
inline constexpr int written_column = 5;

/// Checks that the message can be a row.
/// @throws error `no_topic`, `bad_message_id`, `bad_header`, `message_too_large`.
void check_message(const message& message);

/// Encodes headers for a column: the name and value of each, each with its length in front of it:
/// four bytes, the lowest first.
std::string bytes_of(const std::vector<header>& headers);
/// Decodes headers. @return nothing if the bytes are not from `bytes_of`.
std::optional<std::vector<header>> headers_in(std::string_view bytes);

/// The hash that decides the shard of a message. Without a key, the id is hashed.
std::uint32_t hash_of(std::string_view id, const std::optional<std::string>& key) noexcept;

/// Binds the next five parameters: id, topic, key, payload, headers.
void bind_message(db::statement& to, const message& message);

/// Reads the message of the statement's present row. `column` is that of its id; topic, key,
/// payload, headers follow. Nothing if its headers cannot be read.
std::optional<message> message_at(const db::statement& row, int column);
/// The same, but without the headers.
message without_headers_at(const db::statement& row, int column);
/// Reads such a message into an object. @return whether its headers could be read.
bool read_message(const db::statement& row, int column, message& into);

}  // namespace mortise::outbox::table

#endif
