// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_ANSWER_HPP
#define MORTISE_OUTBOX_ANSWER_HPP

#include "mortise/outbox/message.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::outbox {

/// What a handler says of a message.
class answer {
public:
    enum class kind : std::uint8_t { done, refused, parked };

    /// What it wrote is kept.
    static answer done() { return answer(); }

    /// The business says no, for good: what the handler wrote is undone, and this message is sent
    /// instead, so that whoever sent the first one can take back what it stands for. It names the
    /// first one in the header `mortise-compensates`.
    ///
    /// A message that has this header is parked instead: nothing compensates a compensation.
    static answer refused(message compensation) {
        answer made;
        made.what = kind::refused;
        made.compensation = std::move(compensation);
        return made;
    }

    /// Nobody can do anything with it: what the handler wrote is undone, and the message is put
    /// aside for people to see, with what comes later with its key.
    static answer parked(std::string why) {
        answer made;
        made.what = kind::parked;
        made.text = std::move(why);
        return made;
    }

    kind what = kind::done;
    message compensation;
    std::string text;
};

}  // namespace mortise::outbox

#endif
