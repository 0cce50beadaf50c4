// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_INBOX_EVENT_HPP
#define MORTISE_OUTBOX_INBOX_EVENT_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::outbox {

/// Something that happened to a message of an inbox.
class inbox_event {
public:
    enum class kind : std::uint8_t {
        handled,   ///< Its effect is committed; `attempt` says at which attempt.
        repeated,  ///< It has come before, and nothing was done.
        failed,    ///< Its handler threw: `text`. It is tried again later.
        refused,   ///< The business said no: a compensating message is sent.
        parked,    ///< People have to see to it: `text`.
        waits,     ///< One of its key is tried again or parked, and it waits behind that.
    };

    inbox_event() = default;  // declared: no aggregate (docs/compilers.md, G3)

    kind what = kind::failed;
    std::string message;  ///< The id.
    std::string text;
    std::uint32_t attempt = 0;  ///< Which one it was, from 1; zero: none was made.
};

std::string_view to_string(inbox_event::kind what) noexcept;

}  // namespace mortise::outbox

#endif
