// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_MESSAGE_JSON_HPP
#define MORTISE_TOOLS_OUTBOX_MESSAGE_JSON_HPP

#include "common/json.hpp"
#include "mortise/outbox/message.hpp"

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::tool {

/// Sets `key` as `set_bytes` does, or to null if there are no bytes.
void set_bytes_or_null(
    json::object& object, std::string_view key, const std::optional<std::string>& bytes
);

/// Sets `id`, `topic`, `key` and `payload_size`; null where the message has none.
void set_message_head(json::object& object, const outbox::message& message);

/// Sets `payload` and `headers`.
void set_message_body(json::object& object, const outbox::message& message);

/// Writes headers and payload, a line for each.
void write_message_body(std::ostream& out, const outbox::message& message);

/// The key for a cell of a table: `-` if there is none.
std::string key_text(const outbox::message& message);

double seconds_of(std::chrono::microseconds span);
/// Writes seconds as `12.345 s`.
std::string seconds_text(std::chrono::microseconds span);

}  // namespace mortise::tool

#endif
