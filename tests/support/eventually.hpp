// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_EVENTUALLY_HPP
#define MORTISE_TESTS_SUPPORT_EVENTUALLY_HPP

#include "mortise/coro/clock.hpp"

#include <poll.h>

#include <chrono>
#include <functional>

namespace mortise::test {

/// Asks again and again until `so` holds. Only a failing test waits for the whole limit; on a busy
/// machine ten seconds were not enough. @return whether it held in time.
inline bool eventually(
    const std::function<bool()>& so, std::chrono::milliseconds limit = std::chrono::seconds(30)
) {
    const clock::time_point end = clock::now() + limit;
    while (!so()) {
        if (clock::now() >= end)
            return false;
        ::poll(nullptr, 0, 2);
    }
    return true;
}

}  // namespace mortise::test

#endif
