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

/// A name and a value that travel beside the payload; a name may come several times.
class header {
public:
    header() = default;  // declared: no aggregate (docs/compilers.md, G3)
    header(std::string named, std::string holds)
        : name(std::move(named)), value(std::move(holds)) {}
    friend bool operator==(const header&, const header&) = default;

    std::string name;   ///< 1 to 255 bytes.
    std::string value;  ///< Bytes, as are key and payload.
};

/// What somebody else is to hear.
class message {
public:
    message() = default;
    message(std::string where, std::optional<std::string> about, std::optional<std::string> what)
        : topic(std::move(where)), key(std::move(about)), payload(std::move(what)) {}

    /// A random id, as it is drawn for a message that has none: a UUID of version 7 (RFC 9562).
    static std::string draw_id();

    /// Adds a header that names a lock and the token it is held under, so that whoever receives
    /// the message can refuse what comes from a holder of before.
    void under(std::string_view lock, const fencing_token& held);
    /// The token that was given for that lock; an empty one if there is none.
    fencing_token token_of(std::string_view lock) const;
    /// The first header of that name.
    const std::string* find_header(std::string_view name) const noexcept;

    std::string topic;  ///< 1 to 249 bytes.
    /// Messages of a topic with the same key arrive in the order in which they were committed.
    /// Those without one have no order.
    std::optional<std::string> key;
    std::optional<std::string> payload;  ///< None: a tombstone, for topics that are compacted.
    std::vector<header> headers;         ///< At most 1,024.

    /// What tells one message from another: 1 to 255 bytes; empty: drawn when it is appended.
    std::string id;

    /// By the wall clock: not to be sent earlier. Its order is that of when it became due.
    std::optional<std::chrono::system_clock::time_point> not_before;
};

}  // namespace mortise::outbox

#endif
