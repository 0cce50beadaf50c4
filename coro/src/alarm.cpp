// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/alarm.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <utility>

namespace mortise::coro::detail {

struct alarm::wait {
    asio::cancellation_signal signal;
    std::function<void()> then;  ///< Empty once the alarm has fired or was cancelled.
};

void alarm::set(
    time_source& time,
    const asio::any_io_executor& strand,
    clock::time_point when,
    std::function<void()> then
) {
    cancel();
    wait_ = std::make_shared<wait>();
    wait_->then = std::move(then);
    time.async_wait_until(
        when,
        asio::bind_cancellation_slot(
            wait_->signal.slot(),
            asio::bind_executor(
                strand,
                [due = wait_](error_code failed) {
                    const auto action = std::exchange(due->then, nullptr);
                    if (action && !failed)
                        action();
                }
            )
        )
    );
}

void alarm::cancel() noexcept {
    const auto due = std::exchange(wait_, nullptr);
    if (!due || !due->then || process_.forked())
        return;
    due->then = nullptr;
    due->signal.emit(asio::cancellation_type::terminal);
}

bool alarm::is_set() const noexcept {
    return wait_ && wait_->then;
}

}  // namespace mortise::coro::detail
