// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_RECEIVED_HPP
#define MORTISE_OUTBOX_RECEIVED_HPP

#include "mortise/outbox/message.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::outbox {

/// A message as it was received, and where it came from.
class received {
public:
    received() = default;  // declared: no aggregate (docs/compilers.md, G3)
    received(std::string from, std::int64_t at, outbox::message content)
        : source(std::move(from)), offset(at), message(std::move(content)) {}

    /// The stream of the message, for example a partition of a topic: 1 to 255 bytes.
    std::string source;
    /// The place of the message in its source. It grows from one message to the next. It must be
    /// below 2^63 - 1, because the inbox stores the next offset. Negative: the message has no
    /// place.
    std::int64_t offset = -1;
    /// The id was made from the place, so `kind::offsets_and_ids` does not remember it.
    bool id_is_place = false;
    outbox::message message;

    // Set by the inbox, for its handler:

    /// The number of the attempt, from 1. An attempt whose transaction failed for another cause
    /// than this message is not counted.
    std::uint32_t attempt = 0;
    /// `inbox_config::attempts_max`.
    std::uint32_t attempts_max = 0;
    /// Whether the message is parked if this attempt throws. A handler may return `answer::refused`
    /// then, to send a compensating message instead.
    bool is_last_attempt() const noexcept { return attempt >= attempts_max; }
};

}  // namespace mortise::outbox

#endif
