// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_DRIFT_HPP
#define MORTISE_CORE_DRIFT_HPP

#include "mortise/coro/clock.hpp"

#include <cstdint>

namespace mortise::core {

/// The part of `promised` that a client may rely on: the store measures the time by its own clock,
/// which may run faster by `drift_ppm` millionths.
constexpr clock::duration trusted_part(clock::duration promised, std::uint32_t drift_ppm) noexcept {
    // Divide first, so that a hundred years in nanoseconds do not overflow.
    return promised - promised / 1'000'000 * drift_ppm;
}

}  // namespace mortise::core

#endif
