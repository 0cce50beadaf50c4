// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_WORKER_HPP
#define MORTISE_CORO_WORKER_HPP

#include "mortise/coro/detail/callable_check.hpp"
#include "mortise/coro/detail/worker_job.hpp"
#include "mortise/coro/error.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace mortise::coro {

/// The settings of a worker.
class worker_config {
public:
    worker_config() = default;
    /// The name of the thread; the kernel shows 15 bytes of it.
    std::string name = "mortise";
    /// Closures that may wait; the running one is not counted.
    std::size_t queue_max = 4'096;
    /// How long the destructor waits for a running closure; at most a year.
    std::chrono::milliseconds grace{2'000};
    /// How long the thread stays awake for the next closure before it sleeps, where that pays
    /// (`detail::poll_judge`); zero: never.
    std::chrono::microseconds busy_poll_max{0};
};

/// One thread for the blocking work of a program that must not block: first come, first served,
/// with a bounded queue. All signals are blocked in the thread.
///
/// @par Threads      `async_run`, `post`, `stop`: any.
/// @par Lifetimes    The destructor stops the worker and waits at most `grace` for the closure that
///                   runs. A thread that is stuck in the kernel for longer is detached: it owns all
///                   that it needs, except what the closure itself refers to. When the context of a
///                   waiting handler is destroyed, that too waits for the running closure, and if
///                   it is stuck, the handler is leaked and never run or destroyed.
class worker {
public:
    using executor_type = asio::any_io_executor;

    /// `executor` completes handlers that have no executor of their own; its end stops the worker.
    explicit worker(executor_type executor, worker_config config = worker_config());
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    executor_type get_executor() const noexcept { return executor_; }

    /// Runs `work()` on the thread, and completes with its result.
    ///
    /// Work that can fail returns a `result<T>`. An exception that escapes becomes its error code
    /// (`system_error`), `not_enough_memory` (`bad_alloc`) or `errc::work_threw`: it must not
    /// end the thread, and operations here report codes.
    ///
    /// @par Completion   `void(error_code, R)` where `R` is the return type of `work`,
    ///                   default-constructed if the code is set; `void(error_code)` if it returns
    ///                   nothing.
    /// @par Errors       `errc::queue_full`, `errc::work_threw`, `operation_aborted` (cancelled
    ///                   while queued, or the worker has stopped), and those of the exceptions.
    /// @par Cancellation terminal, partial, total, all alike: while queued, the closure is removed
    ///                   and destroyed unrun. Once it runs, a signal has no effect.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    /// @par Lifetimes    `work` is copied or moved in, and destroyed before the handler is called.
    ///                   g++ 12 refuses a temporary lambda that owns something if the token is one
    ///                   to await (docs/coroutine-traps.md).
    /// @par Cost         One allocation, and two switches between threads.
    template <class Work, class Token = asio::deferred_t>
    auto async_run(Work&& work, Token&& token = Token{}) {
        using kept = std::decay_t<Work>;
        using job = detail::awaited_job<kept, std::invoke_result_t<kept&>>;
        const auto start = [&] {
            kept todo(std::forward<Work>(work));
            return detail::start_job<job>(
                executor_, state_, std::move(todo), std::forward<Token>(token)
            );
        };
        detail::refuse_owning_work<Work, decltype(start())>();
        return start();
    }

    /// Queues `work()`, whose end nobody awaits; it must not throw. False, and `work` is destroyed,
    /// if the queue is full or the worker has stopped.
    template <class Work>
    bool post(Work work) {
        return detail::submit(state_, std::make_shared<detail::posted_job<Work>>(std::move(work)));
    }

    /// Lets the running closure end, drops the queued ones (their handlers complete with
    /// `operation_aborted`) and takes no more. Does not wait.
    void stop() noexcept;

    /// Closures that wait in the queue.
    [[nodiscard]] std::size_t queued() const noexcept;

private:
    executor_type executor_;
    std::shared_ptr<detail::worker_state> state_;
};

}  // namespace mortise::coro

#endif
