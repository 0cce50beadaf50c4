// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_POSTGRES_CONNECTION_HPP
#define MORTISE_DB_POSTGRES_CONNECTION_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/db/bound_sql.hpp"
#include "mortise/db/query_result.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace mortise::db {

namespace detail {
class postgres_run;
}

/// A connection to a PostgreSQL server, for the closure of one transaction.
///
/// Types of columns: integers and booleans (0 and 1) are integers, floating numbers are `double`,
/// `bytea` is a blob; all others, such as numeric, timestamps, uuid or json, are text as PostgreSQL
/// writes it. Values go the other way in the same manner; the server gives each the type that its
/// place in the statement asks for. Where nothing asks for one, write it: `$1::bigint`.
///
/// @par Threads      One at a time: the caller's executor.
/// @par Lifetimes    Not to be used after the closure has ended.
class postgres_connection {
public:
    using executor_type = asio::any_io_executor;

    explicit postgres_connection(detail::postgres_run& run) noexcept : run_(&run) {}
    postgres_connection(const postgres_connection&) = delete;
    postgres_connection& operator=(const postgres_connection&) = delete;

    /// The executor of the closure.
    executor_type get_executor() const noexcept;

    /// Runs one statement. Several may be under way: they run in the order of the calls, and none
    /// waits for the answer to another.
    ///
    /// After a failed statement the server refuses all others of the transaction, except for a
    /// ROLLBACK TO a savepoint, and the transaction cannot be committed. BEGIN, COMMIT and ROLLBACK
    /// are the session's.
    ///
    /// @par Completion   `void(std::exception_ptr, query_result)`; `co_await` throws.
    /// @par Errors       `error` with the server's words, and a code of `postgres_category`; of
    ///                   `mortise::errc`: `value_refused`, `transaction_control`,
    ///                   `store_unavailable`; `operation_aborted` (cancelled).
    /// @par Cancellation terminal, partial, total, all alike: the statement is cancelled at the
    ///                   server, and has its answer awaited. If it was done before, it succeeds.
    ///                   If the server does not answer in `cancel_max`, the connection is closed.
    /// @par Threads      Completes by post to the handler's executor, never from inside.
    /// @par Cost         A round trip. The first statement carries the BEGIN.
    template <class Token = asio::deferred_t>
    auto async_query(bound_sql statement, Token&& token = Token{}) {
        return coro::detail::async_start<void(std::exception_ptr, query_result)>(
            get_executor(),
            std::forward<Token>(token),
            &postgres_connection::start,
            shared_run(),
            std::move(statement)
        );
    }

    /// `co_await on.query("UPDATE stock SET left = left - $1 WHERE id = $2", 1, id)`
    template <bindable_value... Values>
    auto query(std::string text, const Values&... values) {
        return async_query(bound_sql(std::move(text), values...));
    }

private:
    std::shared_ptr<detail::postgres_run> shared_run() const;
    static void start(
        coro::detail::completion<void(std::exception_ptr, query_result)> done,
        std::shared_ptr<detail::postgres_run> run,
        bound_sql statement
    );

    detail::postgres_run* run_;
};

}  // namespace mortise::db

#endif
