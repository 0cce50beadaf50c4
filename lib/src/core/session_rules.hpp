// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_SESSION_RULES_HPP
#define MORTISE_CORE_SESSION_RULES_HPP

#include "mortise/coro/clock.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace mortise::core {

// The rules of sessions, which every store keeps: who may act, how long a session lives, when
// nothing is granted. All times are of the store's clock. Memory and SQLite call these functions;
// the scripts of Redis have the same rules in `may_act`, `compare_run` and `clamp_deadlines`.

/// What decides who may act for a session.
struct session_terms {
    std::uint64_t generation = 0;  ///< That of the newest connection which has begun to act.
    clock::time_point deadline;    ///< The session lives until then.
};

/// Whether a session is over. At its deadline it is: whoever meets it then may free its locks.
constexpr bool is_over(clock::time_point deadline, clock::time_point now) noexcept {
    return deadline <= now;
}

/// Whether a connection may act for a session. An older one than the newest may not: its calls may
/// have been under way for so long that their sender has given them up.
constexpr bool
may_act(const session_terms& session, std::uint64_t generation, clock::time_point now) noexcept {
    return generation >= session.generation && !is_over(session.deadline, now);
}

enum class resumption : std::uint8_t {
    begins,   ///< A session that nobody knew.
    goes_on,  ///< The session is there, and lives.
    refused,  ///< It has ended, or a newer connection acts for it: `session_lost`.
};

/// What becomes of `resume`. Only a first generation begins a session: a later one had a session,
/// which the store no longer knows, and must hear that it is lost.
constexpr resumption judge_resume(
    const std::optional<session_terms>& known, std::uint64_t generation, clock::time_point now
) noexcept {
    if (known)
        return may_act(*known, generation, now) ? resumption::goes_on : resumption::refused;
    return generation == 1 ? resumption::begins : resumption::refused;
}

/// Until when a session lives whose proof reached the store at `proved`.
constexpr clock::time_point
deadline_after(clock::time_point proved, std::chrono::milliseconds ttl) noexcept {
    return coro::saturating_add(proved, ttl);
}

/// Until when a store that may have forgotten holders grants nothing.
/// @param believed_until when the last of them stops to believe in its lease, as far as is known.
/// @param longest the longest TTL that any of them can have; what is stored may be wrong by more,
///     for example because a clock was set back.
/// @return the epoch of the clock if that is over.
constexpr clock::time_point quarantine_end(
    clock::time_point believed_until, clock::duration longest, clock::time_point now
) noexcept {
    const clock::time_point last = coro::saturating_add(now, longest);
    const clock::time_point end = believed_until < last ? believed_until : last;
    return end > now ? end : clock::time_point();
}

/// What is left of a quarantine; zero if there is none.
constexpr clock::duration quarantine_left(clock::time_point end, clock::time_point now) noexcept {
    return end > now ? end - now : clock::duration::zero();
}

/// The first moment at which a client must look after others at its store: their deadlines, the
/// ends of their grants, the end of a quarantine.
class next_deadline {
public:
    constexpr explicit next_deadline(clock::time_point now) noexcept : now_(now) {}

    /// The maximum of the clock stands for never.
    constexpr void consider(clock::time_point when) noexcept {
        if (when < first_)
            first_ = when;
    }

    /// How far away it is: not above zero if it has passed; nothing if there is no such moment.
    constexpr std::optional<clock::duration> left() const noexcept {
        if (first_ == clock::time_point::max())
            return std::nullopt;
        return first_ - now_;
    }

private:
    clock::time_point now_;
    clock::time_point first_ = clock::time_point::max();
};

}  // namespace mortise::core

#endif
