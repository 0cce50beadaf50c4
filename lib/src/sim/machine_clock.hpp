// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SIM_MACHINE_CLOCK_HPP
#define MORTISE_SIM_MACHINE_CLOCK_HPP

#include "mortise/coro/clock.hpp"

#include <cstdint>
#include <optional>

namespace mortise::sim::detail {

/// The clock of one simulated machine: it begins at a time of its own, and runs faster or slower
/// than true time.
class machine_clock {
public:
    machine_clock(clock::time_point true_now, clock::time_point shows);

    clock::time_point shows(clock::time_point true_now) const noexcept;

    /// The true time at which the clock shows `local`, in the past or the future; nothing if that
    /// is too far away to matter.
    std::optional<clock::time_point> when(clock::time_point local) const noexcept;

    /// Sets the rate from now on, in millionths; positive is faster.
    void set_rate(std::int32_t ppm, clock::time_point true_now) noexcept;
    std::int32_t rate() const noexcept { return rate_; }

private:
    std::int32_t rate_ = 0;
    clock::time_point since_;   // true time
    clock::time_point origin_;  // the time that it showed then
};

}  // namespace mortise::sim::detail

#endif
