// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_SLOT_WORD_HPP
#define MORTISE_STORE_SQLITE_SLOT_WORD_HPP

#include "mortise/coro/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace mortise::store_detail {

/// Life or death of a slot in one word: how often the slot was taken (upper 16 bits), and until
/// when its session lives, in microseconds of the clock (lower 48 bits, enough for nine years since
/// boot). Zero microseconds is death.
///
/// The owner swaps the word that it wrote last for one with a later deadline; whoever takes over
/// swaps the word that it sees for death. Only one of the two can win.
class slot_word {
public:
    constexpr slot_word() noexcept = default;
    constexpr explicit slot_word(std::uint64_t raw) noexcept : raw_(raw) {}
    constexpr slot_word(std::uint16_t incarnation, std::uint64_t deadline_us) noexcept
        : raw_(std::uint64_t{incarnation} << deadline_bits | (deadline_us & deadline_mask)) {}

    /// Rounds up: the store must not let a session end earlier than its owner does.
    static constexpr std::uint64_t microseconds_until(clock::time_point when) noexcept {
        using std::chrono::ceil;
        using std::chrono::microseconds;
        const auto count = ceil<microseconds>(when.time_since_epoch()).count();
        return count <= 0 ? 1 : std::min(static_cast<std::uint64_t>(count), deadline_mask);
    }

    constexpr std::uint64_t raw() const noexcept { return raw_; }
    constexpr std::uint16_t incarnation() const noexcept {
        return static_cast<std::uint16_t>(raw_ >> deadline_bits);
    }
    constexpr bool dead() const noexcept { return (raw_ & deadline_mask) == 0; }
    constexpr clock::time_point deadline() const noexcept {
        return clock::time_point(
            std::chrono::microseconds(static_cast<std::int64_t>(raw_ & deadline_mask))
        );
    }
    constexpr bool expired(clock::time_point now) const noexcept { return deadline() <= now; }

    constexpr slot_word killed() const noexcept { return slot_word(incarnation(), 0); }
    constexpr slot_word next(std::uint64_t deadline_us) const noexcept {
        return slot_word(static_cast<std::uint16_t>(incarnation() + 1), deadline_us);
    }

    friend constexpr bool operator==(slot_word, slot_word) noexcept = default;

private:
    static constexpr unsigned deadline_bits = 48;
    static constexpr std::uint64_t deadline_mask = (std::uint64_t{1} << deadline_bits) - 1;

    std::uint64_t raw_ = 0;
};

}  // namespace mortise::store_detail

#endif
