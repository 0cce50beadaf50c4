// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_MESSAGE_HPP
#define MORTISE_OUTBOX_MESSAGE_HPP

#include "mortise/fencing_token.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::outbox {

/// A name and a value that travel beside the payload. A name may occur several times.
class header {
public:
    header() = default;  // declared: no aggregate (docs/compilers.md, G3)
    header(std::string named, std::string holds)
        : name(std::move(named)), value(std::move(holds)) {}
    friend bool operator==(const header&, const header&) = default;

    std::string name;   ///< 1 to 255 bytes.
    std::string value;  ///< Any bytes, like key and payload.
};

/// A message to another program.
class message {
public:
    message() = default;
    message(std::string where, std::optional<std::string> about, std::optional<std::string> content)
        : topic(std::move(where)), key(std::move(about)), payload(std::move(content)) {}

    /// Draws a random id, as for a message without one: a UUID of version 7 (RFC 9562).
    static std::string draw_id();

    /// Adds a header with the name of a lock and the token under which it is held. The receiver can
    /// then refuse messages of an earlier holder.
    void under(std::string_view lock, const fencing_token& held);
    /// Finds the token that was added for that lock; empty if there is none.
    fencing_token token_of(std::string_view lock) const;
    /// Finds the first header of that name; null if there is none.
    const std::string* find_header(std::string_view name) const noexcept;

    std::string topic;  ///< 1 to 249 bytes.
    /// Messages of a topic with the same key arrive in the order in which they were committed.
    /// Messages without a key have no order.
    std::optional<std::string> key;
    std::optional<std::string> payload;  ///< Absent: a tombstone, for compacted topics.
    std::vector<header> headers;         ///< At most 1,024.

    /// Tells this message from all others: 1 to 255 bytes. If empty, it is drawn on append.
    std::string id;

    /// The earliest time of sending, by the wall clock. The message is ordered as if it were
    /// appended when it becomes due.
    std::optional<std::chrono::system_clock::time_point> not_before;
};

}  // namespace mortise::outbox

#endif
