// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/backoff.hpp"

#include "mortise/coro/assert.hpp"

#include <algorithm>

namespace mortise::coro {

backoff::backoff(backoff_options options, std::uint64_t seed) noexcept
    : options_(options), bound_(options.first), state_(seed) {
    MORTISE_ASSERT(options.first >= std::chrono::milliseconds(1));
    MORTISE_ASSERT(options.max >= options.first);
    MORTISE_ASSERT(options.max <= std::chrono::hours(24 * 365));
    MORTISE_ASSERT(options.factor >= 1);
}

clock::duration backoff::next() noexcept {
    // The remainder favours small numbers by less than one in 2^64 / bound, which does no harm
    // here.
    const auto span = static_cast<std::uint64_t>(bound_.count()) + 1;
    const clock::duration pause(static_cast<clock::rep>(draw() % span));
    const clock::duration max = options_.max;
    const auto factor = static_cast<clock::rep>(options_.factor);
    bound_ = bound_ > max / factor ? max : std::min(max, bound_ * factor);
    ++attempts_;
    return pause;
}

void backoff::reset() noexcept {
    bound_ = options_.first;
    attempts_ = 0;
}

// splitmix64: eight bytes of state, and every seed is good.
std::uint64_t backoff::draw() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

}  // namespace mortise::coro
