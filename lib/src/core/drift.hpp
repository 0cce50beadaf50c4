// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_DRIFT_HPP
#define MORTISE_CORE_DRIFT_HPP

#include "mortise/coro/clock.hpp"

#include <cstdint>

namespace mortise::core {

/// What a client trusts of a time that a store measures by a clock of its own, which may run faster
/// by so many millionths.
constexpr clock::duration trusted_part(clock::duration promised, std::uint32_t drift_ppm) noexcept {
    // In two steps, so that a hundred years in nanoseconds do not overflow.
    return promised - promised / 1'000'000 * drift_ppm;
}

}  // namespace mortise::core

#endif
