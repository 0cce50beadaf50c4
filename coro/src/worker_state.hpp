// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_SRC_WORKER_STATE_HPP
#define MORTISE_CORO_SRC_WORKER_STATE_HPP

#include "mortise/coro/detail/batch_worker.hpp"
#include "mortise/coro/detail/busy_poll.hpp"
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

/// The state that a worker's thread shares with the worker, the callers, and the contexts of their
/// handlers.
///
/// The thread takes a batch of jobs, of one unless told otherwise, and hands it to its runner.
/// Three parties may want to end a job: the thread that runs it, its canceller, and its context.
/// While the job is queued, the list decides. While its batch runs, the job stays known to its
/// context, whose end waits for it (`let_go`); between `run` and the end of the post no context may
/// go away.
///
/// Where the context has a `worker_host` there is no thread: each batch takes two turns of the
/// host, one that runs the jobs and one that delivers their results.
class worker_state final : public shutdown_hook, public std::enable_shared_from_this<worker_state> {
public:
    explicit worker_state(worker_config config);
    worker_state(worker_config config, std::size_t batch_max, std::shared_ptr<batch_runner> runner);
    ~worker_state() override;

    /// Registers for the end of the context, and starts the thread unless there is a host.
    void start(asio::execution_context& context);
    bool submit(std::shared_ptr<worker_job> job);
    void stop() noexcept;
    /// Waits for the thread, at most `grace`, then detaches it.
    void join() noexcept;
    /// Waits until the thread has run its last job, however long that takes.
    void wait_stopped() noexcept;
    std::size_t queued() const noexcept;

    /// Waits until the context of a running job's handler may end, at most `grace`; then drops the
    /// job, or leaks it if its closure still runs.
    void let_go(worker_job& job) noexcept;
    /// In a forked child, keeps the job for ever, as it was when the child was made. Else false.
    bool leaves_behind(worker_job& job) const noexcept;

private:
    void shut_down() noexcept override;
    void run() noexcept;
    bool next_batch();
    void poll_for_job() noexcept;
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
    std::mutex& mutex_;   // the queue's; guards all that follows
    poll_judge polling_;  // the thread's
    std::condition_variable wanted_;
    std::condition_variable changed_;
    std::vector<std::shared_ptr<worker_job>> batch_;  // a delivered job leaves a null
    bool working_ = false;                            // the runner has the batch: closures may run
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
