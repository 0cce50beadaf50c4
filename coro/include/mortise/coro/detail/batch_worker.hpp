// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_BATCH_WORKER_HPP
#define MORTISE_CORO_DETAIL_BATCH_WORKER_HPP

#include "mortise/coro/detail/worker_job.hpp"
#include "mortise/coro/worker.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace mortise::coro::detail {

/// Runs the jobs that a worker's thread has taken from its queue.
class batch_runner {
public:
    virtual ~batch_runner() = default;

    /// Runs all jobs, on the worker's thread. After it returns, each job delivers its result.
    virtual void run(std::span<const std::shared_ptr<worker_job>> batch) noexcept = 0;
};

/// A worker whose thread takes all queued jobs, up to a bound, instead of one closure at a time.
///
/// @par Threads      As `worker`.
/// @par Lifetimes    As `worker`; the thread owns the runner.
class batch_worker {
public:
    batch_worker(
        asio::any_io_executor executor,
        worker_config config,
        std::size_t batch_max,
        std::shared_ptr<batch_runner> runner
    );
    /// Makes a worker that runs each closure by itself.
    batch_worker(asio::any_io_executor executor, worker_config config);
    ~batch_worker();
    batch_worker(const batch_worker&) = delete;
    batch_worker& operator=(const batch_worker&) = delete;

    /// As `worker::async_run`: the runner gets a job that runs `work()`.
    template <class Work, class Token>
    auto async_run(Work work, Token&& token) {
        using job = awaited_job<Work, std::invoke_result_t<Work&>>;
        return async_submit<job>(std::move(work), std::forward<Token>(token));
    }

    /// As `async_run`, for a job of the runner's own kind, made of its completion and of `work`.
    template <class Job, class Work, class Token>
    auto async_submit(Work work, Token&& token) {
        return start_job<Job>(executor_, state_, std::move(work), std::forward<Token>(token));
    }

    /// As `detail::submit`.
    bool submit(std::shared_ptr<worker_job> job);
    /// Lets the running batch end, drops the queued jobs and takes no more. Does not wait.
    void stop() noexcept;
    /// Waits for the thread, at most `grace`, as the destructor does. Call after `stop`.
    void join() noexcept;
    /// Waits until the thread has run its last job, however long that takes. Call after `stop`, and
    /// never on the thread itself.
    void wait_stopped() noexcept;
    [[nodiscard]] std::size_t queued() const noexcept;

private:
    asio::any_io_executor executor_;
    std::shared_ptr<worker_state> state_;
};

}  // namespace mortise::coro::detail

#endif
