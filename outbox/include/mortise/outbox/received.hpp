// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_RECEIVED_HPP
#define MORTISE_OUTBOX_RECEIVED_HPP

#include "mortise/outbox/message.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::outbox {

/// A message that has come, and where from.
class received {
public:
    received() = default;  // declared: no aggregate (docs/compilers.md, G3)
    received(std::string from, std::int64_t at, message came)
        : source(std::move(from)), offset(at), what(std::move(came)) {}

    /// The stream that it came in (a partition of a topic, say), 1 to 255 bytes.
    std::string source;
    /// Its place there, which grows from one message to the next, below the last that there is
    /// (2^63 - 1), as the one that comes next is kept; negative: it has none.
    std::int64_t offset = -1;
    /// The id was made up, of the place: `kind::offsets_and_ids` does not remember it.
    bool id_is_place = false;
    message what;

    // What the inbox says to its handler.

    /// Which attempt it is, from 1. One whose transaction came to nothing for somebody else's fault
    /// is not counted.
    std::uint32_t attempt = 0;
    /// `inbox_config::attempts_max`.
    std::uint32_t attempts_max = 0;
    /// If this one throws, the message is parked: a handler may say `answer::refused` instead, and
    /// so have a compensating message sent.
    bool is_last_attempt() const noexcept { return attempt >= attempts_max; }
};

}  // namespace mortise::outbox

#endif
