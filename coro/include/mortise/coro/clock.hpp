// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_CLOCK_HPP
#define MORTISE_CORO_CLOCK_HPP

#include "mortise/coro/fwd.hpp"

#include <chrono>

namespace mortise::coro {

/// `CLOCK_BOOTTIME` in the shape of `std::chrono::steady_clock`.
///
/// It never goes backwards and it counts the time that the machine was suspended, which
/// `steady_clock` does not on Linux: a lease must not outlive its time because a lid was closed.
///
/// @par Threads      Any.
/// @par Cost         One `clock_gettime` without a switch into the kernel.
struct boot_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<boot_clock, duration>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept;
};

/// `when + after` that stops at the ends of the clock instead of overflowing. Users pass
/// `milliseconds::max()` and mean "for ever".
template <class Rep, class Period>
[[nodiscard]] constexpr boot_clock::time_point
saturating_add(boot_clock::time_point when, std::chrono::duration<Rep, Period> after) noexcept {
    using duration = boot_clock::duration;
    using time_point = boot_clock::time_point;
    // Compare in floating-point seconds first, because the conversion itself may overflow.
    using wide = std::chrono::duration<long double>;
    if (wide(after) >= wide(duration::max()))
        return time_point::max();
    if (wide(after) <= wide(duration::min()))
        return time_point::min();
    const auto step = std::chrono::duration_cast<duration>(after);
    const auto since = when.time_since_epoch();
    if (step > duration::zero() && since > duration::max() - step)
        return time_point::max();
    if (step < duration::zero() && since < duration::min() - step)
        return time_point::min();
    return time_point(since + step);
}

}  // namespace mortise::coro

namespace mortise {

/// The clock of every deadline in this library.
using clock = coro::boot_clock;

}  // namespace mortise

#endif
