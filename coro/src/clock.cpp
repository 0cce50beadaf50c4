// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/clock.hpp"

#include "mortise/coro/assert.hpp"

#include <time.h>

namespace mortise::coro {

boot_clock::time_point boot_clock::now() noexcept {
    timespec at{};
    const int failed = ::clock_gettime(CLOCK_BOOTTIME, &at);
    MORTISE_ASSERT(failed == 0);
    return time_point(std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec));
}

}  // namespace mortise::coro
