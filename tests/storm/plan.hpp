// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_PLAN_HPP
#define MORTISE_TESTS_STORM_PLAN_HPP

#include "mortise/lock_mode.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace mortise::storm {

/// A contested lock, and how many of a hundred wishes ask for each mode; the rest ask for shared.
struct contested_lock {
    const char* name;
    std::uint32_t writers;
    std::uint32_t guests;  ///< Wishes for one of its permits.
    std::uint32_t permits;

    /// The mode for a number drawn below a hundred.
    lock_mode mode_for(std::uint32_t drawn) const noexcept {
        if (drawn < writers)
            return lock_mode::exclusive();
        return drawn < writers + guests ? lock_mode::permits(permits) : lock_mode::shared();
    }
};

inline constexpr std::array<contested_lock, 10> locks{{
    {"door-1", 100, 0, 0},
    {"door-2", 100, 0, 0},
    {"door-3", 100, 0, 0},
    {"door-4", 100, 0, 0},
    {"book-1", 30, 0, 0},
    {"book-2", 30, 0, 0},
    {"book-3", 30, 0, 0},
    {"seats-1", 0, 100, 3},
    {"seats-2", 0, 100, 3},
    {"hall", 30, 30, 2},
}};

/// One slot for each permit, and slot zero for the other modes.
inline constexpr std::size_t slots_max = 4;

/// The domain of the store's tokens.
inline constexpr const char* domain = "storm";

}  // namespace mortise::storm

#endif
