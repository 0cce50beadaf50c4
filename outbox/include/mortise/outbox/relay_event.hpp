// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_RELAY_EVENT_HPP
#define MORTISE_OUTBOX_RELAY_EVENT_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::outbox {

/// An event at a shard of a relay.
class relay_event {
public:
    enum class kind : std::uint8_t {
        taken,      ///< The relay has taken the shard.
        opened,     ///< Its sink is open.
        sent,       ///< `messages` were sent, up to `row`; the sink took `took` for them.
        failed,     ///< An operation failed and is tried again: `code`, `text`.
        mark_lost,  ///< The sink forgot its mark: messages may be sent twice.
        refused,    ///< The shard stops until an operator decides: `code`, `text`.
        parked,     ///< The message in `row` cannot be sent; those of its key wait behind it.
        returned,   ///< Topic `text` exists now: what was parked for its absence is sent.
        noticed,    ///< The sink has a notice for people: `text`.
        left,       ///< Another relay has the shard now, or this one stops.
        done,       ///< The shard is empty for ever: the number of shards changed.
    };

    relay_event() = default;  // declared: no aggregate (docs/compilers.md, G3)

    kind type = kind::taken;
    std::uint32_t shard = 0;
    std::int64_t row = 0;
    error_code code;
    std::string text;
    std::uint64_t messages = 0;  ///< Of `sent`.
    clock::duration took{};
};

std::string_view to_string(relay_event::kind kind) noexcept;

}  // namespace mortise::outbox

#endif
