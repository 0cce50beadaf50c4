// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_REPLY_HPP
#define MORTISE_TXN_REPLY_HPP

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace mortise::txn {

/// The answer of a participant to a call.
class reply {
public:
    enum class verdict : std::uint8_t {
        done,     ///< Done, now or earlier.
        refused,  ///< No, for a business reason; a repetition gets the same answer.
        again,    ///< Not yet: ask again after `after`, within a day.
        ahead,    ///< Not done: the participant has `seen` something that the log does not know.
    };

    /// What a participant has seen of the transaction, or of its log; zero: nothing of that kind.
    class evidence {
    public:
        evidence() = default;
        friend bool operator==(const evidence&, const evidence&) = default;

        std::uint64_t epoch = 0;        ///< Higher than that of the call.
        std::uint64_t term = 0;         ///< Of another transaction with the same number.
        std::uint64_t ended_below = 0;  ///< All lower numbers have ended, this one included.
    };

    reply() = default;  // declared: no aggregate (docs/compilers.md, G3)

    static reply done(std::string payload = {}) {
        reply answer;
        answer.payload = std::move(payload);
        return answer;
    }
    /// Of a try: done, and neither a confirm nor a cancel is needed, because nothing was changed.
    static reply done_for_good() {
        reply answer;
        answer.finished = true;
        return answer;
    }
    static reply refused(std::string why) {
        reply answer;
        answer.type = verdict::refused;
        answer.payload = std::move(why);
        return answer;
    }
    static reply again(std::chrono::milliseconds after) {
        reply answer;
        answer.type = verdict::again;
        answer.after = after;
        return answer;
    }

    static reply ahead(const evidence& seen) {
        reply answer;
        answer.type = verdict::ahead;
        answer.seen = seen;
        return answer;
    }

    friend bool operator==(const reply&, const reply&) = default;

    verdict type = verdict::done;
    std::string payload;  ///< Of a refusal: the reason, for people.
    std::chrono::milliseconds after{0};
    bool finished = false;  ///< Of a try that is done: the branch needs no further call.
    evidence seen;          ///< Of the verdict `ahead`.
};

}  // namespace mortise::txn

#endif
