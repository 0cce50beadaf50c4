// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_PLAN_HPP
#define MORTISE_TESTS_STORM_PLAN_HPP

#include "mortise/lock_mode.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace mortise::storm {

/// A lock that all fight for, and how many of a hundred want it in which mode; the rest read.
struct contested_lock {
    const char* name;
    std::uint32_t writers;
    std::uint32_t guests;  ///< Those who want one of its permits.
    std::uint32_t permits;

    /// What somebody wants who drew this number below a hundred.
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

/// One for each permit, and one (zero) for who has no permit.
inline constexpr std::size_t slots_max = 4;

/// Names the tokens of the store.
inline constexpr const char* domain = "storm";

}  // namespace mortise::storm

#endif
