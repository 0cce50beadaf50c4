// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_TIME_SOURCE_HPP
#define MORTISE_CORO_TIME_SOURCE_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/initiate.hpp"

#include <memory>
#include <utility>

namespace mortise::coro {

/// The source of time: the real one, or a simulated one (virtual_time). One object per client, so
/// that simulated processes with clocks of their own can live in one program (ADR 0001).
///
/// @par Threads      Any, for all members.
class time_source {
public:
    using executor_type = asio::any_io_executor;

    time_source(const time_source&) = delete;
    time_source& operator=(const time_source&) = delete;
    virtual ~time_source() = default;

    [[nodiscard]] virtual clock::time_point now() const noexcept = 0;

    executor_type get_executor() const noexcept { return executor_; }

    /// Waits until `now()` is at least `when`. `time_point::max()` means for ever: until cancelled.
    ///
    /// @par Completion   `void(error_code)`
    /// @par Errors       `operation_aborted`: cancelled, or the time source was destroyed.
    /// @par Cancellation terminal, partial, total, all alike. A signal after the moment was reached
    ///                   has no effect.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    /// @par Lifetimes    *this must live when the operation starts, not while it waits.
    /// @par Cost         One allocation and one entry of a tree.
    template <class Token = asio::deferred_t>
    auto async_wait_until(clock::time_point when, Token&& token = Token{}) {
        return detail::async_start<void(error_code)>(
            executor_, std::forward<Token>(token), &time_source::start_wait, this, when
        );
    }

protected:
    explicit time_source(executor_type executor) : executor_(std::move(executor)) {}

private:
    virtual void wait_until(clock::time_point when, detail::completion<void(error_code)> done) = 0;

    static void start_wait(
        detail::completion<void(error_code)> done, time_source* self, clock::time_point when
    ) {
        self->wait_until(when, std::move(done));
    }

    executor_type executor_;
};

/// The real time: one timerfd on `CLOCK_BOOTTIME` for all waits, since Asio's own timers stop while
/// the machine is suspended. It holds no work on the executor while nobody waits.
///
/// @par Errors       Throws `system_error` if the kernel gives no timerfd.
std::shared_ptr<time_source> make_boot_time_source(asio::any_io_executor executor);

}  // namespace mortise::coro

#endif
