// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_POSTGRES_RUN_HPP
#define MORTISE_DB_POSTGRES_RUN_HPP

#include "db/postgres_core.hpp"
#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/db/postgres.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace mortise::db::detail {

/// Whether a statement would begin or end a transaction, which is the session's to do. Savepoints
/// are allowed, and ROLLBACK TO one.
bool controls_transaction(std::string_view sql) noexcept;

/// A statement of a closure that is under way.
class postgres_query final : public std::enable_shared_from_this<postgres_query> {
public:
    using completion = coro::detail::completion<void(std::exception_ptr, query_result)>;

    postgres_query(completion done, std::shared_ptr<postgres_run> run, bound_sql statement);

    void start();
    /// Called by its `cancel_proxy`.
    void on_cancel(asio::cancellation_type_t type);
    void complete(std::exception_ptr failure, query_result result = {});

    bound_sql sql;
    pg_connection::message_id message = 0;  ///< Zero while it was not sent.
    bool cancelled = false;

private:
    completion done_;
    std::shared_ptr<postgres_run> run_;  ///< Null once it has completed.
};

/// One `async_run`: waits for a connection, runs the closure, commits or rolls back, and begins
/// again after a conflict if that is allowed.
///
/// waiting -> running -> ending -> pausing -> waiting, or the end
///
/// BEGIN leaves with the first statement, so a closure without one costs nothing at the server.
///
/// @par Threads   The strand, except where a comment says any; the closure runs on the executor of
///                its caller.
/// @par Lifetimes Kept alive by what it waits for.
class postgres_run final : public std::enable_shared_from_this<postgres_run> {
public:
    postgres_run(
        std::shared_ptr<postgres_core> core,
        transaction_options options,
        std::shared_ptr<postgres_body> body
    );

    // Any thread.
    const asio::any_io_executor& executor() const noexcept { return executor_; }
    const std::shared_ptr<postgres_core>& core() const noexcept { return core_; }

    void begin();
    /// Ends it unbegun: the session is stopped.
    void refuse();
    /// Called by its `cancel_proxy`.
    void on_cancel(asio::cancellation_type_t type);
    void query(const std::shared_ptr<postgres_query>& wanted);
    void cancel(const postgres_query& running);
    /// Lets go of the closure and its caller: the context has ended.
    void drop() noexcept;

private:
    enum class stage : std::uint8_t { waiting, running, ending, pausing, ended };

    void got_connection(pg_failure why, std::shared_ptr<pg_connection> connection);
    void start_body();
    void body_ended(std::exception_ptr failure);
    void answered(const std::shared_ptr<postgres_query>& wanted, postgres_detail::pg_reply reply);
    void note_failure(const pg_failure& why);
    void limit_end();
    void roll_back();
    void trace();
    void commit();
    void committed(const postgres_detail::pg_reply& reply);
    void conclude();
    void pause();
    void deliver();
    bool may_repeat() const;
    std::string begin_statement() const;

    const std::shared_ptr<postgres_core> core_;
    const transaction_options options_;
    std::shared_ptr<postgres_body> body_;
    const asio::any_io_executor executor_;
    asio::cancellation_signal stop_;  ///< Of the closure; used on its executor only.
    postgres_connection handle_{*this};
    coro::backoff backoff_;
    coro::detail::alarm alarm_;

    stage stage_ = stage::waiting;
    bool cancelled_ = false;
    postgres_pool::ticket ticket_ = 0;
    std::uint32_t attempts_ = 0;

    // Of the present attempt.
    std::shared_ptr<pg_connection> connection_;
    std::set<std::shared_ptr<postgres_query>> queries_;
    bool begun_ = false;         ///< BEGIN was sent.
    bool took_control_ = false;  ///< The closure tried to end the transaction.
    bool wrote_ = true;          ///< Whether it may have written, as far as is known.
    transaction_mark mark_;
    /// Of the server, or of the connection, unless the closure has undone it by a savepoint.
    pg_failure first_failure_;
    std::exception_ptr failure_;  ///< What the caller will get.
};

}  // namespace mortise::db::detail

#endif
