// SPDX-License-Identifier: BSL-1.0
#include "wall_clock.hpp"

#include <chrono>

namespace mortise::outbox {

std::int64_t wall_now() noexcept {
    using std::chrono::microseconds;
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<microseconds>(since).count();
}

}  // namespace mortise::outbox
