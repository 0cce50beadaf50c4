// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SIM_DICE_HPP
#define MORTISE_SIM_DICE_HPP

#include "mortise/coro/clock.hpp"

#include <cstddef>
#include <cstdint>

namespace mortise::sim {

/// Random numbers of a simulation: all of them follow from its seed, on every platform.
///
/// @par Threads One.
class dice {
public:
    explicit dice(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept;

    /// From 0 to `end` - 1; `end` is not zero. (The bias is below `end` / 2^64.)
    std::size_t below(std::size_t end) noexcept;

    /// True with that probability.
    bool chance(double probability) noexcept;

    /// From `low` to `high`, both included.
    clock::duration between(clock::duration low, clock::duration high) noexcept;

    /// With an exponential distribution: mostly short, sometimes many times the mean.
    clock::duration around(clock::duration mean) noexcept;

private:
    std::uint64_t state_;
};

}  // namespace mortise::sim

#endif
