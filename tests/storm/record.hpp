// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_RECORD_HPP
#define MORTISE_TESTS_STORM_RECORD_HPP

#include "mortise/coro/clock.hpp"

#include <cstdint>

namespace mortise::storm {

/// The moment as it is written down in the shared memory.
inline std::int64_t now_ns() {
    return clock::now().time_since_epoch().count();
}

/// How a wish for a lock has ended, as far as its process came to write it down.
enum class ending : std::uint8_t {
    waiting,  ///< It had no answer yet.
    holding,  ///< Its lease was not given back yet.
    released,
    lost,  ///< The lease was not there any more when it was given back.
    busy,  ///< `wait_max` ran out, or a try failed.
    cancelled,
    store_away,  ///< The server was not there, or did not answer.
    failed,      ///< With another code.
};

/// One wish for a lock, as its process saw it. Lies in shared memory, so that what was written
/// survives the process. Times are nanoseconds of `CLOCK_BOOTTIME`; zero: it did not come to that.
///
/// Somebody who asks the clock, then the lease, then the clock again knows that the lease said
/// "held" between the two, and not more: the process may have been stopped in between.
struct record {
    std::int64_t asked = 0;
    std::int64_t granted = 0;     ///< The acquire had returned.
    std::int64_t first_ask = 0;   ///< Before the first time that the lease said "held".
    std::int64_t held_from = 0;   ///< After that.
    std::int64_t held_until = 0;  ///< Before the last time that it did.
    std::int64_t let_go = 0;      ///< Before the release was called.
    std::int64_t ended = 0;       ///< After all of it.
    std::uint64_t token = 0;
    std::uint32_t process = 0;  ///< Each start of a process has a number of its own.
    std::uint32_t slot = 0;
    std::int32_t code = 0;  ///< Why it failed.
    std::uint8_t lock = 0;  ///< Its place in the plan.
    std::uint8_t mode = 0;  ///< As `lock_mode::kind`.
    ending end = ending::waiting;
    /// The resource refused its token, and afterwards the lease said "held".
    bool held_though_refused = false;
};

}  // namespace mortise::storm

#endif
