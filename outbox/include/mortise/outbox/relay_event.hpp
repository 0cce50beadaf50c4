// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_RELAY_EVENT_HPP
#define MORTISE_OUTBOX_RELAY_EVENT_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::outbox {

/// Something that happened to a shard of a relay.
class relay_event {
public:
    enum class kind : std::uint8_t {
        taken,      ///< This relay works on it from now on.
        opened,     ///< Its sink is open.
        sent,       ///< A batch of `messages` got through, up to `row`; the sink had it for `took`.
        failed,     ///< Something did not work, and is tried again: `code`, `text`.
        mark_lost,  ///< The sink has forgotten how far it got: messages may be sent twice.
        refused,    ///< It does not go on until an operator has decided: `code`, `text`.
        parked,     ///< The message in `row` cannot be sent; those of its key wait behind it.
        returned,   ///< Topic `text` is there: what was parked as it was not is sent now.
        noticed,    ///< The sink tells something that people should know: `text`.
        left,       ///< Another relay has it now, or this one stops.
        done,       ///< All of it is sent, and no more will come: the number of shards changed.
    };

    relay_event() = default;  // declared: no aggregate (docs/compilers.md, G3)

    kind what = kind::taken;
    std::uint32_t shard = 0;
    std::int64_t row = 0;
    error_code code;
    std::string text;
    std::uint64_t messages = 0;  ///< Of `sent`.
    clock::duration took{};
};

std::string_view to_string(relay_event::kind what) noexcept;

}  // namespace mortise::outbox

#endif
