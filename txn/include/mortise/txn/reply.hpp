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
        ahead,    ///< Not done: the participant has `seen` what the caller's log does not know.
    };

    /// What a participant has seen of the transaction, or of its log; zero: nothing of that kind.
    class evidence {
    public:
        evidence() = default;
        friend bool operator==(const evidence&, const evidence&) = default;

        std::uint64_t epoch = 0;        ///< A higher one than the call's.
        std::uint64_t term = 0;         ///< Of another transaction with the same number.
        std::uint64_t ended_below = 0;  ///< All with lower numbers have ended: also this one.
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

    static reply ahead(const evidence& seen) {
        reply made;
        made.what = verdict::ahead;
        made.seen = seen;
        return made;
    }

    friend bool operator==(const reply&, const reply&) = default;

    verdict what = verdict::done;
    std::string payload;  ///< Of a refusal: why, for people.
    std::chrono::milliseconds after{0};
    evidence seen;  ///< Of one that is ahead.
};

}  // namespace mortise::txn

#endif
