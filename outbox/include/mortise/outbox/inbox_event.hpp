// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_INBOX_EVENT_HPP
#define MORTISE_OUTBOX_INBOX_EVENT_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::outbox {

/// An event in the life of a message at an inbox.
class inbox_event {
public:
    enum class kind : std::uint8_t {
        handled,   ///< Its effect is committed; `attempt` is the number of the attempt.
        repeated,  ///< It came before; nothing was done.
        failed,    ///< Its handler threw: `text`. It is tried again later.
        refused,   ///< The handler refused it: a compensating message is sent.
        parked,    ///< An operator must look at it: `text`.
        waits,     ///< It waits behind a message of its key that is retried or parked.
    };

    inbox_event() = default;  // declared: no aggregate (docs/compilers.md, G3)

    kind type = kind::failed;
    std::string message;  ///< The id of the message.
    std::string text;
    std::uint32_t attempt = 0;  ///< The number of the attempt, from 1; zero: there was none.
};

std::string_view to_string(inbox_event::kind kind) noexcept;

}  // namespace mortise::outbox

#endif
