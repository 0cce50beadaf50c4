// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SERVER_TRANSACTION_HPP
#define MORTISE_DB_SERVER_TRANSACTION_HPP

#include "db/server_query.hpp"
#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/alarm.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <set>

namespace mortise::db::detail {

/// One `async_run`: waits for a connection, begins, runs the closure, commits or rolls back, and
/// begins again after a conflict if that is allowed.
///
/// waiting -> beginning -> running -> ending -> pausing -> waiting, or the end
///
/// @par Threads The strand, except where a comment says any; the closure runs on the executor of
///              its caller.
class server_transaction final : public server_task {
public:
    server_transaction(
        std::shared_ptr<server_session> session,
        transaction_options options,
        const std::shared_ptr<transaction_body>& body
    );

    void begin() override;
    void on_cancel(asio::cancellation_type_t type) override;
    void drop() noexcept override;
    void query(const std::shared_ptr<server_query>& wanted);
    void cancel(const std::shared_ptr<server_query>& unwanted);

    // The closure, while it runs.
    std::uint32_t connection_number() const noexcept { return number_; }
    const transaction_mark& mark() const noexcept { return mark_; }
    /// Has the connection closed behind the transaction, because its settings were changed.
    void retire_connection() noexcept { connection_->retired = true; }

protected:
    void got_connection() override;
    void fail(const server_failure& why) override;
    void caller_ended() override;

private:
    enum class stage : std::uint8_t { waiting, beginning, running, ending, pausing, ended };

    std::shared_ptr<server_transaction> self();
    void begun(const server_failure& why);
    void start_body();
    void body_ended(std::exception_ptr failure);
    void send_next();
    void answered(const std::shared_ptr<server_query>& wanted, server_reply reply);
    void note_state(const server_failure& why);
    void limit(std::chrono::milliseconds most);
    void judge_end();
    void roll_back();
    void commit();
    void committed(server_ending ending);
    void prepare();
    void prepared(const server_ending& ending);
    void note_failed_end(const server_failure& why);
    void conclude();
    void pause();
    void deliver();
    bool may_repeat() const;

    const transaction_options options_;
    const prepared_name name_;  ///< Under which it can be prepared; empty: it is committed.
    const std::weak_ptr<transaction_body> body_;  ///< The caller's hold owns it.
    coro::backoff backoff_;
    coro::detail::alarm alarm_;

    stage stage_ = stage::waiting;
    bool cancelled_ = false;
    std::uint32_t attempts_ = 0;

    // Of the present attempt.
    std::deque<std::shared_ptr<server_query>> unsent_;
    std::set<std::shared_ptr<server_query>> sent_;
    std::uint32_t number_ = 0;
    transaction_mark mark_;
    bool took_control_ = false;  ///< The closure tried to end the transaction.
    /// Of the server, or of the connection, unless the closure has undone it by a savepoint.
    server_failure first_failure_;
    std::exception_ptr failure_;  ///< What the caller will get.
};

/// A statement of a closure.
class closure_query final : public server_query,
                            public std::enable_shared_from_this<closure_query> {
public:
    closure_query(
        completion done, std::shared_ptr<server_transaction> transaction, bound_sql statement
    );

    void start();
    asio::any_io_executor strand() const { return transaction_->strand(); }
    void on_cancel(asio::cancellation_type_t type);

private:
    const std::shared_ptr<server_transaction> transaction_;
};

}  // namespace mortise::db::detail

#endif
