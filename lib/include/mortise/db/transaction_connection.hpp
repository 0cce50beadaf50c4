// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_TRANSACTION_CONNECTION_HPP
#define MORTISE_DB_TRANSACTION_CONNECTION_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/db/bound_sql.hpp"
#include "mortise/db/query_result.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace mortise::db {

namespace detail {
class server_transaction;
}

/// A connection to a database server, for the closure of one transaction.
///
/// @par Threads      One at a time: the caller's executor.
/// @par Lifetimes    Not to be used after the closure has ended, by which time its statements must
///                   have been awaited: otherwise the transaction fails (`transaction_control`).
class transaction_connection {
public:
    using executor_type = asio::any_io_executor;

    transaction_connection(detail::server_transaction& transaction, executor_type executor) noexcept
        : transaction_(&transaction), executor_(std::move(executor)) {}
    transaction_connection(const transaction_connection&) = delete;
    transaction_connection& operator=(const transaction_connection&) = delete;

    /// The executor of the closure.
    executor_type get_executor() const noexcept { return executor_; }

    /// Runs one statement. Several may be under way: they run in the order of the calls.
    ///
    /// To begin and to end the transaction is the session's: such statements are refused, and the
    /// transaction then fails. Savepoints are allowed.
    ///
    /// @par Completion   `void(std::exception_ptr, query_result)`; `co_await` throws.
    /// @par Errors       `error` with the server's words, and a code of the server's category; of
    ///                   `mortise::errc`: `value_refused`, `transaction_control`,
    ///                   `store_unavailable`, `rolled_back` (the server has undone the transaction
    ///                   before); `operation_aborted` (cancelled).
    /// @par Cancellation terminal, partial, total, all alike: the statement is cancelled at the
    ///                   server, and has its answer awaited. If it was done before, it succeeds.
    ///                   If the server does not answer in `cancel_max`, the connection is closed.
    /// @par Threads      Completes by post to the handler's executor, never from inside.
    /// @par Lifetimes    The handler's executor is of the context of the caller of `async_run`.
    /// @par Cost         A round trip.
    template <class Token = asio::deferred_t>
    auto async_query(bound_sql statement, Token&& token = Token{}) {
        return coro::detail::async_start<void(std::exception_ptr, query_result)>(
            get_executor(),
            std::forward<Token>(token),
            &transaction_connection::start,
            shared_transaction(),
            std::move(statement)
        );
    }

    /// `co_await on.query("UPDATE stock SET left = left - $1 WHERE id = $2", 1, id)`
    template <bindable_value... Values>
    auto query(std::string text, const Values&... values) {
        return async_query(bound_sql(std::move(text), values...));
    }

protected:
    detail::server_transaction& transaction() const noexcept { return *transaction_; }

private:
    std::shared_ptr<detail::server_transaction> shared_transaction() const;
    static void start(
        coro::detail::completion<void(std::exception_ptr, query_result)> done,
        std::shared_ptr<detail::server_transaction> transaction,
        bound_sql statement
    );

    detail::server_transaction* transaction_;
    const executor_type executor_;
};

}  // namespace mortise::db

#endif
