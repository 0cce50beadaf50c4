// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_REPLY_HPP
#define MORTISE_TXN_REPLY_HPP

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace mortise::txn {

/// What a participant answers.
class reply {
public:
    enum class verdict : std::uint8_t {
        done,     ///< Done, now or before.
        refused,  ///< No, for a reason of the business, and no again if asked again.
        again,    ///< Not yet: ask again after `after`, within a day.
    };

    reply() = default;  // declared: no aggregate (docs/compilers.md, G3)

    static reply done(std::string payload = {}) {
        reply made;
        made.payload = std::move(payload);
        return made;
    }
    static reply refused(std::string why) {
        reply made;
        made.what = verdict::refused;
        made.payload = std::move(why);
        return made;
    }
    static reply again(std::chrono::milliseconds after) {
        reply made;
        made.what = verdict::again;
        made.after = after;
        return made;
    }

    friend bool operator==(const reply&, const reply&) = default;

    verdict what = verdict::done;
    std::string payload;  ///< Of a refusal: why, for people.
    std::chrono::milliseconds after{0};
};

}  // namespace mortise::txn

#endif
