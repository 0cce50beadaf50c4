// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_VERDICT_HPP
#define MORTISE_OUTBOX_VERDICT_HPP

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::outbox {

/// The result of handling a message in a handler sink.
class verdict {
public:
    enum class kind : std::uint8_t {
        done,     ///< The message was handled.
        refused,  ///< The message can never be handled: it is parked with later ones of its key.
    };

    verdict() = default;
    static verdict done() { return {}; }
    static verdict refused(std::string why) {
        verdict decision;
        decision.type = kind::refused;
        decision.text = std::move(why);
        return decision;
    }

    kind type = kind::done;
    std::string text;
};

}  // namespace mortise::outbox

#endif
