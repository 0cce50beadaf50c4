// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_MUTEX_GUARD_HPP
#define MORTISE_CORO_MUTEX_GUARD_HPP

#include "mortise/coro/fwd.hpp"

#include <memory>
#include <utility>

namespace mortise::coro {

namespace detail {
class mutex_state;
}

/// Holds a coro::mutex; destroying it hands the mutex to the next in line.
///
/// @par Threads      Distinct objects: any. One object: one at a time.
/// @par Lifetimes    May outlive the mutex.
class [[nodiscard]] mutex_guard {
public:
    mutex_guard() noexcept = default;
    mutex_guard(mutex_guard&& other) noexcept = default;
    /// First unlocks what *this holds.
    mutex_guard& operator=(mutex_guard&& other) noexcept {
        mutex_guard taken(std::move(other));
        unlock();
        state_ = std::move(taken.state_);
        return *this;
    }
    ~mutex_guard() { unlock(); }

    /// Unlocks now; nothing if it holds nothing.
    void unlock() noexcept;

    /// Whether it holds a mutex.
    explicit operator bool() const noexcept { return state_ != nullptr; }

private:
    friend class detail::mutex_state;
    explicit mutex_guard(std::shared_ptr<detail::mutex_state> state) noexcept
        : state_(std::move(state)) {}

    std::shared_ptr<detail::mutex_state> state_;
};

}  // namespace mortise::coro

#endif
