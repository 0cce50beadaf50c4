// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_ANSWER_HPP
#define MORTISE_OUTBOX_ANSWER_HPP

#include "mortise/outbox/message.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::outbox {

/// The decision of a handler about one message.
class answer {
public:
    enum class kind : std::uint8_t { done, refused, parked };

    /// Keeps what the handler wrote.
    static answer done() { return answer(); }

    /// Refuses the message for good, for a reason of the business. What the handler wrote is undone
    /// and `compensation` is sent instead, for the producer to take back what the message stands
    /// for. The header `mortise-compensates` of `compensation` names the refused message.
    ///
    /// A message that has this header itself is parked instead: a compensation is not compensated.
    static answer refused(message compensation) {
        answer decision;
        decision.type = kind::refused;
        decision.compensation = std::move(compensation);
        return decision;
    }

    /// Sets the message aside for an operator, together with later messages of its key. What the
    /// handler wrote is undone. Use it for a message that nobody can handle.
    static answer parked(std::string why) {
        answer decision;
        decision.type = kind::parked;
        decision.text = std::move(why);
        return decision;
    }

    kind type = kind::done;
    message compensation;
    std::string text;
};

}  // namespace mortise::outbox

#endif
