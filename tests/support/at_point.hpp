// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_AT_POINT_HPP
#define MORTISE_TESTS_SUPPORT_AT_POINT_HPP

#include "mortise/coro/detail/crash_point.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::test {

#ifdef MORTISE_PLANT_BUGS

/// Acts when a thread of this process first passes a crash point, on that thread: as if the thread
/// had been slow there. One at a time.
class at_point {
public:
    at_point(std::string point, std::function<void()> action) : seen_(std::make_shared<seen>()) {
        coro::detail::watch_crash_points([point = std::move(point),
                                          action = std::move(action),
                                          seen = seen_](std::string_view passed) {
            if (passed != point || seen->begun.exchange(true))
                return;
            action();
            seen->ended = true;
        });
    }
    ~at_point() { coro::detail::watch_crash_points({}); }
    at_point(const at_point&) = delete;
    at_point& operator=(const at_point&) = delete;

    /// Whether the action was done.
    bool hit() const noexcept { return seen_->ended; }

private:
    struct seen {
        std::atomic<bool> begun{false};
        std::atomic<bool> ended{false};
    };

    std::shared_ptr<seen> seen_;
};

#endif

}  // namespace mortise::test

#endif
