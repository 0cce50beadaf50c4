// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_MYSQL_CONNECTION_HPP
#define MORTISE_DB_MYSQL_CONNECTION_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/db/bound_sql.hpp"
#include "mortise/db/query_result.hpp"
#include "mortise/db/transaction_mark.hpp"

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace mortise::db {

namespace detail {
class mysql_wire;
}

/// A connection to a MariaDB or MySQL server, inside a transaction, for the work of a closure.
///
/// @par Threads      One statement at a time, on the executor of the closure. Each is awaited
///                   before the next, and before the closure ends.
/// @par Lifetimes    Of use until the closure ends, as are awaitables of its statements.
class mysql_connection {
public:
    explicit mysql_connection(std::shared_ptr<detail::mysql_wire> wire);
    ~mysql_connection();
    mysql_connection(const mysql_connection&) = delete;
    mysql_connection& operator=(const mysql_connection&) = delete;

    /// Runs one statement. With parameters it is prepared first, once for each connection.
    ///
    /// Statements that would begin or end the transaction are refused, and so are those by which
    /// the server ends it unasked (`CREATE TABLE`, say). After a deadlock or a lock time-out every
    /// statement is refused, and the transaction cannot be committed: the server has undone it, or
    /// a part of it.
    ///
    /// @par Completion   `void(std::exception_ptr, query_result)`; `co_await` throws.
    /// @par Errors       `error` with what the server says, and a code of `mysql_category`; of
    ///                   `mortise::errc`: `store_unavailable` (the connection ended),
    ///                   `rolled_back`, `transaction_control`, `value_refused`, `column_type` (an
    ///                   unsigned number above 2^63 - 1); `operation_aborted` (cancelled).
    /// @par Cancellation terminal, partial, total, all alike: the statement is cancelled at the
    ///                   server (`KILL QUERY`, by another connection), and has its answer awaited.
    ///                   If it was done before, it succeeds. If the server does not obey within
    ///                   `cancel_max`, the connection is given up.
    /// @par Threads      Completes by post to the handler's executor, never from inside.
    /// @par Cost         One round trip; two when it is prepared.
    template <class Token = asio::deferred_t>
    auto async_query(bound_sql statement, Token&& token = Token{}) {
        return coro::detail::async_start<void(std::exception_ptr, query_result)>(
            get_executor(),
            std::forward<Token>(token),
            &mysql_connection::start,
            wire_,
            std::move(statement)
        );
    }

    /// `co_await on.query("UPDATE stock SET left = left - ? WHERE id = ?", 1, id)`
    template <bindable_value... Values>
    auto query(std::string text, const Values&... values) {
        return async_query(bound_sql(std::move(text), values...));
    }

    asio::any_io_executor get_executor() const;

    /// The server's number of the connection, as in its process list.
    std::uint32_t server_id() const noexcept;

    /// What asks for the outcome of this transaction (`async_outcome`); empty if it is not traced.
    transaction_mark mark() const;

private:
    static void start(
        coro::detail::completion<void(std::exception_ptr, query_result)> done,
        std::shared_ptr<detail::mysql_wire> wire,
        bound_sql statement
    );

    std::shared_ptr<detail::mysql_wire> wire_;
};

}  // namespace mortise::db

#endif
