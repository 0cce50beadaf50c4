// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_BACKOFF_HPP
#define MORTISE_CORO_BACKOFF_HPP

#include "mortise/coro/clock.hpp"

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace mortise::coro {

/// The limits of a back-off.
struct backoff_options {
    std::chrono::milliseconds first{50};   ///< Upper bound of the first pause; at least 1 ms.
    std::chrono::milliseconds max{5'000};  ///< Upper bound of any pause; at least `first`.
    std::uint32_t factor = 2;              ///< Growth of the bound per attempt; at least 1.
};
static_assert(std::is_trivially_destructible_v<backoff_options>, "docs/compilers.md, G1");

/// The bound of a pause: `first` after the first attempt, that is with `attempts` 0 or 1, then
/// `factor` times as much after each further one, and at most `max`.
[[nodiscard]] clock::duration
backoff_bound(const backoff_options& options, std::uint32_t attempts) noexcept;

/// Draws times evenly from an interval; equal seeds give equal times.
///
/// @par Threads      One at a time.
class jitter {
public:
    explicit jitter(std::uint64_t seed) noexcept : state_(seed) {}

    /// A time from `least` to `most`, both included; `least` must not exceed `most`.
    [[nodiscard]] clock::duration draw(clock::duration least, clock::duration most) noexcept;

private:
    std::uint64_t state_;
};

/// Capped exponential back-off with full jitter: each pause is drawn evenly from zero to a bound
/// that grows by `factor` with each attempt, from `first` to `max`. It reads no clock; equal seeds
/// give equal pauses.
///
/// @par Threads      One at a time.
class backoff {
public:
    explicit backoff(backoff_options options, std::uint64_t seed) noexcept;

    /// The pause before the next attempt: from zero to the present bound, both included.
    [[nodiscard]] clock::duration next() noexcept;

    /// Starts over with `first`, after a success. The random numbers go on.
    void reset() noexcept;

    /// How many pauses were drawn since the last `reset`.
    [[nodiscard]] std::uint32_t attempts() const noexcept { return attempts_; }
    /// The bound of the pause that `next` will draw.
    [[nodiscard]] clock::duration bound() const noexcept { return bound_; }

private:
    backoff_options options_;
    clock::duration bound_;
    std::uint32_t attempts_ = 0;
    jitter jitter_;
};

}  // namespace mortise::coro

#endif
