// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/dice.hpp"

#include "mortise/coro/assert.hpp"

#include <cmath>

namespace mortise::sim {

// SplitMix64, as in seeded_random.
std::uint64_t dice::next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

std::size_t dice::below(std::size_t end) noexcept {
    MORTISE_ASSERT(end != 0);
    return static_cast<std::size_t>(next() % end);
}

bool dice::chance(double probability) noexcept {
    constexpr double steps = 1u << 30;
    return static_cast<double>(next() >> 34) < probability * steps;
}

clock::duration dice::between(clock::duration low, clock::duration high) noexcept {
    MORTISE_ASSERT(low <= high);
    const auto span = static_cast<std::uint64_t>((high - low).count()) + 1;
    return low + clock::duration(static_cast<clock::rep>(next() % span));
}

clock::duration dice::around(clock::duration mean) noexcept {
    // From 2^-53 to 1: its logarithm is finite.
    const double uniform = (static_cast<double>(next() >> 11) + 1.0) / 9007199254740992.0;
    return clock::duration(
        static_cast<clock::rep>(-std::log(uniform) * static_cast<double>(mean.count()))
    );
}

}  // namespace mortise::sim
