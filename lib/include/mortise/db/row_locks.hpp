// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_ROW_LOCKS_HPP
#define MORTISE_DB_ROW_LOCKS_HPP

#include "mortise/db/detail/sql_runner.hpp"
#include "mortise/db/row.hpp"
#include "mortise/db/table_row.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mortise::db {

// Pessimistic locking at a server: a row is locked before it is read, until the transaction ends.
// docs/sql-patterns.md says which pattern is for what, and why SQLite needs no row locks.

/// No limit but the server's own: `lock_timeout`, `innodb_lock_wait_timeout`.
inline constexpr std::chrono::milliseconds wait_as_configured = std::chrono::milliseconds::max();

namespace detail {
asio::awaitable<row> lock_row(sql_runner& on, table_row target, std::chrono::milliseconds wait_max);
asio::awaitable<std::vector<row>>
lock_rows(sql_runner& on, std::vector<table_row> targets, std::chrono::milliseconds wait_max);
asio::awaitable<std::vector<row>> lock_free_rows(
    sql_runner& on,
    std::string table,
    bound_sql filter,
    std::uint32_t rows_max,
    std::string order_column
);
asio::awaitable<void>
lock_table(sql_runner& on, std::string table, std::chrono::milliseconds wait_max);
}  // namespace detail

/// Locks a row for the transaction of a closure, and gives what is in it as it was last committed
/// (`SELECT ... FOR UPDATE`). `on` is a `db::postgres_connection` or a `db::mysql_connection`.
///
/// `wait_max` is how long to wait for another transaction that has the row: zero is not at all
/// (NOWAIT). MariaDB counts whole seconds, and MySQL knows only NOWAIT: it refuses another limit as
/// a syntax error. The limit holds for this one statement; the connection does not keep it.
///
/// @par Completion   the row.
/// @par Errors       throws `error`: `row_busy`, after which the transaction cannot go on, for the
///                   server undoes it or a part of it; `row_missing`; `value_refused` (no name of a
///                   table or column); `duration_negative`; and as `async_query`.
/// @par Cancellation as `async_query`: a wait for the row ends at the server.
/// @par Threads      as the connection: the executor of the closure.
/// @par Lifetimes    `on` must live until it ends. The rest is copied or moved in.
/// @par Cost         A round trip; at PostgreSQL two more with a limit that is not zero.
template <detail::closure_connection Connection>
asio::awaitable<row> lock_row(
    Connection& on, table_row target, std::chrono::milliseconds wait_max = wait_as_configured
) {
    detail::connection_runner<Connection> runner(on);
    auto locking = detail::lock_row(runner, std::move(target), wait_max);
    co_return co_await std::move(locking);
}

/// Locks rows of one or several tables, one after the other in the order of their tables and ids,
/// so that two callers never wait for each other. Ids are compared as values and bytes: write each
/// as the table has it. `wait_max` is for each row.
///
/// @par Completion   the rows, in the order of `targets`. All else as `lock_row`, for each of them.
template <detail::closure_connection Connection>
asio::awaitable<std::vector<row>> lock_rows(
    Connection& on,
    std::vector<table_row> targets,
    std::chrono::milliseconds wait_max = wait_as_configured
) {
    detail::connection_runner<Connection> runner(on);
    auto locking = detail::lock_rows(runner, std::move(targets), wait_max);
    co_return co_await std::move(locking);
}

/// Locks the first rows that nobody else has locked (`SKIP LOCKED`), at most `rows_max`: a table
/// as a queue of work. Waits for nothing, and does not spoil the transaction if there is none.
///
/// `filter` is the condition in SQL, with its parameters written as the server knows them:
/// `db::bound_sql("state = $1", "new")`; an empty one is all rows. MariaDB knows it from 10.6 on,
/// MySQL from 8.0.
///
/// @par Completion   the rows, in the order of that column. Errors, cancellation, threads and
///                   lifetimes as for `lock_row`.
template <detail::closure_connection Connection>
asio::awaitable<std::vector<row>> lock_free_rows(
    Connection& on,
    std::string table,
    bound_sql filter,
    std::uint32_t rows_max = 1,
    std::string order_column = "id"
) {
    detail::connection_runner<Connection> runner(on);
    auto locking = detail::lock_free_rows(
        runner, std::move(table), std::move(filter), rows_max, std::move(order_column)
    );
    co_return co_await std::move(locking);
}

/// Locks a table of PostgreSQL against all other writers and row locks until the transaction ends
/// (`LOCK TABLE ... IN EXCLUSIVE MODE`). Others may read it. At MySQL such a lock would commit the
/// transaction: lock a row that stands for the table. All else as `lock_row`.
template <std::same_as<postgres_connection> Connection>
asio::awaitable<void> lock_table(
    Connection& on, std::string table, std::chrono::milliseconds wait_max = wait_as_configured
) {
    detail::connection_runner<Connection> runner(on);
    auto locking = detail::lock_table(runner, std::move(table), wait_max);
    co_await std::move(locking);
}

}  // namespace mortise::db

#endif
