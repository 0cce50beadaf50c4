// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_WALL_CLOCK_HPP
#define MORTISE_OUTBOX_SRC_WALL_CLOCK_HPP

#include <chrono>
#include <cstdint>

namespace mortise::outbox {

/// Microseconds since 1970: for people, for ids, for how long rows are kept, and for due times. No
/// promise depends on its being right.
inline std::int64_t wall_now() noexcept {
    using std::chrono::microseconds;
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<microseconds>(since).count();
}

/// Turns such a number into a time point.
inline std::chrono::system_clock::time_point wall_time(std::int64_t number) noexcept {
    return std::chrono::system_clock::time_point(std::chrono::microseconds(number));
}

}  // namespace mortise::outbox

#endif
