// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_MUTEX_HPP
#define MORTISE_CORO_MUTEX_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/coro/mutex_guard.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace mortise::coro {

/// A mutex that is awaited, for coroutines of one process. Owned by no thread; not recursive.
///
/// Unlocking gives it to the oldest waiter: no later one can overtake.
///
/// @par Threads      Any, for all members. The waiting coroutine itself runs on its own executor.
/// @par Lifetimes    Destroying the mutex completes all that wait with `operation_aborted`; a guard
///                   may outlive it.
class mutex {
public:
    using executor_type = asio::any_io_executor;

    /// `executor` completes handlers that have no executor of their own.
    explicit mutex(executor_type executor);
    ~mutex();
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    executor_type get_executor() const noexcept { return executor_; }

    /// Waits for the mutex.
    ///
    /// @par Completion   `void(error_code, mutex_guard)`; the guard is empty if and only if the
    ///                   code is set.
    /// @par Errors       `operation_aborted`: cancelled or closed.
    /// @par Cancellation terminal, partial, total, all alike: nothing is held. A signal after the
    ///                   grant was decided has no effect; the guard is delivered. A handler that
    ///                   is destroyed with its guard unlocks.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside this
    ///                   call or from inside an unlock.
    /// @par Cost         Nothing to allocate when it is free, one allocation when not.
    template <class Token = asio::deferred_t>
    auto async_lock(Token&& token = Token{}) {
        return detail::async_start<void(error_code, mutex_guard)>(
            executor_, std::forward<Token>(token), &mutex::start_lock, state_
        );
    }

    /// The guard if the mutex is free; nobody waits for a free mutex, so this overtakes no one.
    [[nodiscard]] std::optional<mutex_guard> try_lock();

    /// Completes all present and later waits with `operation_aborted`. Guards stay valid.
    void close() noexcept;

private:
    static void start_lock(
        detail::completion<void(error_code, mutex_guard)> done,
        std::shared_ptr<detail::mutex_state> state
    );

    executor_type executor_;
    std::shared_ptr<detail::mutex_state> state_;
};

}  // namespace mortise::coro

#endif
