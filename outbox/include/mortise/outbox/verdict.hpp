// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_VERDICT_HPP
#define MORTISE_OUTBOX_VERDICT_HPP

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::outbox {

/// What became of a message.
class verdict {
public:
    enum class kind : std::uint8_t {
        done,     ///< It was dealt with.
        refused,  ///< It never will be: it is put aside, with what has its key, for people to see.
    };

    verdict() = default;
    static verdict done() { return {}; }
    static verdict refused(std::string why) {
        verdict made;
        made.what = kind::refused;
        made.text = std::move(why);
        return made;
    }

    kind what = kind::done;
    std::string text;
};

}  // namespace mortise::outbox

#endif
