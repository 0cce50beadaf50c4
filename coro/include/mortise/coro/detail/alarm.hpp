// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_ALARM_HPP
#define MORTISE_CORO_DETAIL_ALARM_HPP

#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>

namespace mortise::coro::detail {

/// An action at a set time, unless it is cancelled before. A cancelled alarm keeps no context at
/// work.
///
/// @par Threads One strand.
class alarm {
public:
    alarm() = default;
    ~alarm() { cancel(); }
    alarm(const alarm&) = delete;
    alarm& operator=(const alarm&) = delete;

    /// Sets the alarm, and cancels an earlier one.
    void
    set(time_source& time,
        const asio::any_io_executor& strand,
        clock::time_point when,
        std::function<void()> then);

    /// Does nothing in a forked child: the timer is the parent's.
    void cancel() noexcept;

    bool is_set() const noexcept;

private:
    struct wait;

    std::shared_ptr<wait> wait_;
    const fork_guard process_;
};

}  // namespace mortise::coro::detail

#endif
