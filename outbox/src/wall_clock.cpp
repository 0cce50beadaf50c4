// SPDX-License-Identifier: BSL-1.0
#include "wall_clock.hpp"

namespace mortise::outbox {

std::int64_t wall_now() noexcept {
    using std::chrono::microseconds;
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<microseconds>(since).count();
}

std::chrono::system_clock::time_point wall_time(std::int64_t number) noexcept {
    return std::chrono::system_clock::time_point(std::chrono::microseconds(number));
}

}  // namespace mortise::outbox
