// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_RECORD_HPP
#define MORTISE_TESTS_STORM_RECORD_HPP

#include "mortise/coro/clock.hpp"

#include <cstdint>

namespace mortise::storm {

/// The present time, as the shared memory stores it.
inline std::int64_t now_ns() {
    return clock::now().time_since_epoch().count();
}

/// How a wish for a lock ended, as far as its process wrote it down.
enum class ending : std::uint8_t {
    waiting,  ///< No answer had come.
    holding,  ///< The lease was not released.
    released,
    lost,  ///< The lease was lost before the release.
    busy,  ///< `wait_max` passed, or a try failed.
    cancelled,
    store_away,  ///< The server was down, or did not answer.
    failed,      ///< Another code.
};

/// One wish for a lock, as its process saw it. Lies in shared memory, to survive the process. Times
/// are nanoseconds of `CLOCK_BOOTTIME`; zero if it did not come to that.
///
/// A process reads the clock, asks the lease, and reads the clock again. It then knows only that
/// the lease said "held" at some moment between the two: the process may have been stopped in
/// between.
struct record {
    std::int64_t asked = 0;
    std::int64_t granted = 0;     ///< After the acquire returned.
    std::int64_t first_ask = 0;   ///< Before the lease first said "held".
    std::int64_t held_from = 0;   ///< After that.
    std::int64_t held_until = 0;  ///< Before the lease last said "held".
    std::int64_t let_go = 0;      ///< Before the call of the release.
    std::int64_t ended = 0;       ///< After everything.
    std::uint64_t token = 0;
    std::uint32_t process = 0;  ///< Each start of a process has a new number.
    std::uint32_t slot = 0;
    std::int32_t code = 0;  ///< The error, if it failed.
    std::uint8_t lock = 0;  ///< The index in the plan.
    std::uint8_t mode = 0;  ///< A value of `lock_mode::kind`.
    ending end = ending::waiting;
    /// The resource refused the token, and afterwards the lease still said "held".
    bool held_though_refused = false;
};

}  // namespace mortise::storm

#endif
