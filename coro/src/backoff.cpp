// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/backoff.hpp"

#include "mortise/coro/assert.hpp"

#include <algorithm>

namespace mortise::coro {
namespace {

clock::duration grown(clock::duration bound, const backoff_options& options) noexcept {
    const clock::duration max = options.max;
    const auto factor = static_cast<clock::rep>(options.factor);
    return bound > max / factor ? max : std::min(max, bound * factor);
}

}  // namespace

clock::duration backoff_bound(const backoff_options& options, std::uint32_t attempts) noexcept {
    const clock::duration max = options.max;
    clock::duration bound = std::min<clock::duration>(options.first, max);
    if (options.factor < 2)
        return bound;
    for (std::uint32_t i = 1; i < attempts && bound < max; ++i)
        bound = grown(bound, options);
    return bound;
}

// The generator is splitmix64: eight bytes of state, and every seed is good. The remainder favours
// small numbers by less than one in 2^64 / span, which does no harm here.
clock::duration jitter::draw(clock::duration least, clock::duration most) noexcept {
    MORTISE_ASSERT(least <= most);
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    z ^= z >> 31U;
    const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + clock::duration(static_cast<clock::rep>(z % span));
}

backoff::backoff(backoff_options options, std::uint64_t seed) noexcept
    : options_(options), bound_(options.first), jitter_(seed) {
    MORTISE_ASSERT(options.first >= std::chrono::milliseconds(1));
    MORTISE_ASSERT(options.max >= options.first);
    MORTISE_ASSERT(options.max <= std::chrono::hours(24 * 365));
    MORTISE_ASSERT(options.factor >= 1);
}

clock::duration backoff::next() noexcept {
    const clock::duration pause = jitter_.draw(clock::duration::zero(), bound_);
    bound_ = grown(bound_, options_);
    ++attempts_;
    return pause;
}

void backoff::reset() noexcept {
    bound_ = options_.first;
    attempts_ = 0;
}

}  // namespace mortise::coro
