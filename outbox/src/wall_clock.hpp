// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_WALL_CLOCK_HPP
#define MORTISE_OUTBOX_SRC_WALL_CLOCK_HPP

#include <chrono>
#include <cstdint>

namespace mortise::outbox {

/// Microseconds since 1970: for people, for ids, for how long rows are kept, and for due times. No
/// promise depends on its being right.
std::int64_t wall_now() noexcept;

/// Turns such a number into a time point.
std::chrono::system_clock::time_point wall_time(std::int64_t number) noexcept;

}  // namespace mortise::outbox

#endif
