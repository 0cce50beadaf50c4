// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_SRC_WORKER_STATE_HPP
#define MORTISE_CORO_SRC_WORKER_STATE_HPP

#include "mortise/coro/detail/batch_worker.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/detail/worker_host.hpp"
#include "mortise/coro/detail/worker_job.hpp"
#include "mortise/coro/worker.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace mortise::coro::detail {

/// What a worker's thread shares with the worker, the callers, and the contexts of their handlers.
///
/// The thread takes a batch of jobs, of one unless told otherwise, and hands it to its runner.
/// Three may want to end a job: the thread that runs it, its canceller, and its context. While it
/// is queued the list decides. While its batch runs, it stays known to its context, whose end waits
/// for it (`let_go`); between `run` and the end of the post no context may go away.
///
/// Where the context has a `worker_host` there is no thread: each batch is two of its turns, one
/// that runs it and one that tells what became of it.
class worker_state final : public shutdown_hook, public std::enable_shared_from_this<worker_state> {
public:
    explicit worker_state(worker_config config);
    worker_state(worker_config config, std::size_t batch_max, std::shared_ptr<batch_runner> runner);
    ~worker_state() override;

    /// Starts the thread, if there is to be one, and hears of the end of the context.
    void start(asio::execution_context& context);
    bool submit(std::shared_ptr<worker_job> job);
    void stop() noexcept;
    /// Waits for the thread, at most `grace`, then detaches it.
    void join() noexcept;
    /// Waits until the thread runs nothing more, however long that takes.
    void wait_stopped() noexcept;
    std::size_t queued() const noexcept;

    /// The context of a running job's handler ends: waits until that is safe.
    void let_go(worker_job& job) noexcept;
    /// In a forked child: keeps the job for ever, as it was when the child was made. Else false.
    bool leaves_behind(worker_job& job) const noexcept;

private:
    void shut_down() noexcept override;
    void run() noexcept;
    bool next_batch();
    bool take_batch();
    void run_batch();
    void deliver_batch();
    void wake();
    void take_turn();
    void deliver(std::shared_ptr<worker_job>& job);
    bool in_batch(const worker_job& job) const noexcept;

    const fork_guard process_;
    const worker_config config_;
    const std::size_t batch_max_;
    const std::shared_ptr<batch_runner> runner_;
    const std::shared_ptr<wait_fifo> queue_;
    std::mutex& mutex_;  // the queue's; guards all that follows
    std::condition_variable wanted_;
    std::condition_variable changed_;
    std::vector<std::shared_ptr<worker_job>> batch_;  // a job that was told leaves a gap
    bool working_ = false;                            // the runner is at it: closures may run
    const worker_job* posting_ = nullptr;
    bool stopping_ = false;
    bool finished_ = false;
    bool detached_ = false;
    worker_host* host_ = nullptr;
    bool turn_planned_ = false;
    std::thread thread_;
    std::thread::id id_;
};

}  // namespace mortise::coro::detail

#endif
