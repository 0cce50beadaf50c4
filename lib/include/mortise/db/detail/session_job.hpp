// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_DETAIL_SESSION_JOB_HPP
#define MORTISE_DB_DETAIL_SESSION_JOB_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/coro/detail/worker_job.hpp"
#include "mortise/coro/error.hpp"
#include "mortise/db/connection.hpp"
#include "mortise/db/durability.hpp"
#include "mortise/error.hpp"

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace mortise::db::detail {

class sqlite_session;
enum class session_side : bool { write, read };

/// Work in one of the queues of a session. The session decides its outcome.
class session_job : public coro::detail::worker_job {
public:
    explicit session_job(durability how) noexcept : how_(how) {}

    durability how() const noexcept { return how_; }
    /// Why the work failed; no error if it did not.
    const error_code& code() const noexcept { return code_; }
    /// Drops the value, because the work was undone or its outcome is unknown.
    virtual void fail(error_code why) noexcept = 0;
    /// Gives the work its connection. Must be called before it runs.
    void lend(connection& on) noexcept { on_ = &on; }

protected:
    error_code code_;
    connection* on_ = nullptr;

private:
    durability how_;
};

/// The value that the closure's caller gets: a `result` is taken apart into code and value.
template <class Returned>
struct work_value {
    using type = Returned;
    static constexpr bool has_code = false;
};
template <class T>
struct work_value<result<T>> {
    using type = T;
    static constexpr bool has_code = true;
};

template <class Work>
class awaited_session_job final : public session_job {
    using returned = work_value<std::invoke_result_t<Work&, connection&>>;
    using value_type = typename returned::type;
    static constexpr bool is_void = std::is_void_v<value_type>;
    struct nothing {};

public:
    using signature = typename coro::detail::worker_signature<value_type>::type;
    using completion = coro::detail::completion<signature>;

    awaited_session_job(completion done, durability how, Work&& work)
        : session_job(how), done_(std::move(done)), work_(std::move(work)) {}

    void run() noexcept override {
        try {
            call();
        } catch (...) {
            code_ = coro::detail::code_of_current_exception();
        }
        work_.reset();
    }

    void fail(error_code why) noexcept override {
        value_.reset();
        code_ = why;
    }

    void deliver() noexcept override {
        if constexpr (is_void)
            done_.complete(code_);
        else
            done_.complete(code_, value_ && !code_ ? std::move(*value_) : value_type());
    }

    void finish(error_code why) noexcept override {
        work_.reset();
        fail(why);
        deliver();
    }

    void drop() noexcept override {
        const auto gone = std::move(done_);
        work_.reset();
        value_.reset();
    }

    asio::execution_context* context() noexcept override { return &done_.context(); }
    asio::cancellation_slot slot() noexcept override { return done_.slot(); }

private:
    void call() {
        if constexpr (returned::has_code) {
            auto got = (*work_)(*on_);
            if (got.has_error())
                code_ = got.error().failed() ? got.error() : coro::errc::work_threw;
            else if constexpr (!is_void)
                value_.emplace(std::move(*got));
        } else if constexpr (is_void) {
            (*work_)(*on_);
        } else {
            value_.emplace((*work_)(*on_));
        }
    }

    completion done_;
    std::optional<Work> work_;
    std::optional<std::conditional_t<is_void, nothing, value_type>> value_;
};

asio::any_io_executor executor_of(const sqlite_session& session) noexcept;
/// Queues the job; if it cannot be queued, it completes with the reason.
void submit(
    const std::shared_ptr<sqlite_session>& session,
    session_side side,
    std::shared_ptr<session_job> job
);

template <class Work, class Token>
auto start_work(
    std::shared_ptr<sqlite_session> session,
    session_side side,
    Work work,
    durability how,
    Token&& token
) {
    using job = awaited_session_job<Work>;
    auto executor = executor_of(*session);
    return coro::detail::async_start<typename job::signature>(
        std::move(executor),
        std::forward<Token>(token),
        [](typename job::completion done,
           std::shared_ptr<sqlite_session> on,
           session_side where,
           durability kind,
           Work todo) {
            auto queued = std::make_shared<job>(std::move(done), kind, std::move(todo));
            submit(on, where, std::move(queued));
        },
        std::move(session),
        side,
        how,
        std::move(work)
    );
}

}  // namespace mortise::db::detail

#endif
