// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_WORKER_JOB_HPP
#define MORTISE_CORO_DETAIL_WORKER_JOB_HPP

#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/coro/detail/wait_entry.hpp"

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace mortise::coro::detail {

class worker_state;

/// The error code for the exception in flight. Call it only inside a `catch` handler.
error_code code_of_current_exception() noexcept;

/// A closure in a worker's queue, and the handler that gets its result.
class worker_job : public wait_entry {
public:
    /// Runs the closure, keeps its result and destroys it, on the worker's thread.
    virtual void run() noexcept = 0;
    /// Completes with the result that `run` kept.
    virtual void deliver() noexcept = 0;
    /// The handler's context; null if there is no handler.
    virtual asio::execution_context* context() noexcept = 0;
    virtual asio::cancellation_slot slot() noexcept = 0;

private:
    friend class worker_state;
    void shut_down() noexcept override;

    std::weak_ptr<worker_state> worker_;
    bool orphaned_ = false;  // under the queue's mutex: the context is ending, do not deliver
};

template <class Result>
struct worker_signature {
    static_assert(std::is_default_constructible_v<Result>, "an error needs some result beside it");
    using type = void(error_code, Result);
};
template <>
struct worker_signature<void> {
    using type = void(error_code);
};

/// A closure whose end is awaited.
template <class Work, class Result>
class awaited_job final : public worker_job {
public:
    using signature = typename worker_signature<Result>::type;
    using completion_type = completion<signature>;

    awaited_job(completion_type done, Work&& work)
        : done_(std::move(done)), work_(std::move(work)) {}

    void run() noexcept override {
        try {
            if constexpr (std::is_void_v<Result>)
                (*work_)();
            else
                result_.emplace((*work_)());
        } catch (...) {
            ec_ = code_of_current_exception();
        }
        work_.reset();
    }

    void deliver() noexcept override {
        if constexpr (std::is_void_v<Result>)
            done_.complete(ec_);
        else
            done_.complete(ec_, result_ ? std::move(*result_) : Result());
    }

    void finish(error_code ec) noexcept override {
        work_.reset();
        ec_ = ec;
        deliver();
    }

    void drop() noexcept override {
        const auto gone = std::move(done_);
        work_.reset();
        result_.reset();
    }

    asio::execution_context* context() noexcept override { return &done_.context(); }
    asio::cancellation_slot slot() noexcept override { return done_.slot(); }

private:
    struct nothing {};
    completion_type done_;
    std::optional<Work> work_;
    std::optional<std::conditional_t<std::is_void_v<Result>, nothing, Result>> result_;
    error_code ec_;
};

/// A closure whose end nobody awaits.
template <class Work>
class posted_job final : public worker_job {
public:
    explicit posted_job(Work&& work) : work_(std::move(work)) {}
    void run() noexcept override {
        (*work_)();  // an exception ends in std::terminate, as in a thread: nobody could get it
        work_.reset();
    }
    void deliver() noexcept override {}
    void finish(error_code) noexcept override { work_.reset(); }
    void drop() noexcept override { work_.reset(); }
    asio::execution_context* context() noexcept override { return nullptr; }
    asio::cancellation_slot slot() noexcept override { return {}; }

private:
    std::optional<Work> work_;
};

/// Queues the job. If it cannot be queued, an awaited job completes with the reason, by post.
///
/// Takes the worker by value, because the job may run and destroy it before this returns.
bool submit(std::shared_ptr<worker_state> worker, std::shared_ptr<worker_job> job);

/// Starts an operation whose job is made of its completion and of `work`.
template <class Job, class Work, class Token>
auto start_job(
    asio::any_io_executor executor, std::shared_ptr<worker_state> worker, Work work, Token&& token
) {
    return async_start<typename Job::signature>(
        std::move(executor),
        std::forward<Token>(token),
        [](completion<typename Job::signature> done, std::shared_ptr<worker_state> on, Work todo) {
            submit(std::move(on), std::make_shared<Job>(std::move(done), std::move(todo)));
        },
        std::move(worker),
        std::move(work)
    );
}

}  // namespace mortise::coro::detail

#endif
