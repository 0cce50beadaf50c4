// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_TASK_SCOPE_HPP
#define MORTISE_CORO_TASK_SCOPE_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>

namespace mortise::coro {

namespace detail {
class task_scope_state;
}

/// Owns tasks that come and go, and waits for all of them: no task outlives its scope.
///
/// All tasks run on the scope's executor, which must be a strand unless its context has only one
/// thread. A scope must be joined before it is destroyed: tasks that still run then would use
/// objects that are gone, so the next turn of the executor aborts the program. If there is no next
/// turn, because the execution context is being destroyed, the tasks are destroyed with it.
///
/// @par Threads      `spawn`, `cancel`, `size`: any. `join`: a coroutine on any executor.
class task_scope {
public:
    explicit task_scope(asio::any_io_executor executor);
    ~task_scope();
    task_scope(const task_scope&) = delete;
    task_scope& operator=(const task_scope&) = delete;

    asio::any_io_executor get_executor() const noexcept;

    /// Starts the task at its next turn on the executor, never inside this call. An exception that
    /// escapes is kept and rethrown by `join`, except `operation_aborted` after `cancel`. The
    /// closure that made the task must outlive it, as with any coroutine.
    void spawn(asio::awaitable<void> task);

    /// Emits `terminal` to all tasks, and to those that are spawned later as soon as they start.
    void cancel() noexcept;

    /// Waits until no task is left, then rethrows the first exception that was kept. The scope can
    /// be used again afterwards, except that a cancelled one stays so.
    ///
    /// @par Cancellation Of the types the coroutine accepts: cancels the tasks, and still waits for
    ///                   them to end; `join` itself then ends as if it had not been cancelled.
    asio::awaitable<void> join();

    /// Tasks that have not ended.
    [[nodiscard]] std::size_t size() const noexcept;

private:
    std::shared_ptr<detail::task_scope_state> state_;
};

}  // namespace mortise::coro

#endif
