// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_UNIQUE_ROW_HPP
#define MORTISE_DB_UNIQUE_ROW_HPP

#include "mortise/db/detail/sql_runner.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace mortise::db {

// A lock that is a row: whoever inserts it has the lock until the row expires. The simplest lock
// that a database gives, on SQLite, PostgreSQL, MariaDB and MySQL alike. It has no queue and no
// push: whoever is refused asks again. It ends by the server's clock, and nobody tells a holder
// that is too late. So a holder that may be paused needs the token, and a fence (`sql_fence`), or
// a real lock (`lock_client`). docs/sql-patterns.md compares.

/// The name of the lock, and who takes it: an id that nobody else has, not even the next attempt in
/// the same process.
class unique_row {
public:
    unique_row(std::string of_name, std::string for_owner)
        : name(std::move(of_name)), owner(std::move(for_owner)) {}

    std::string name;   ///< 1 to 1,024 bytes, compared as bytes.
    std::string owner;  ///< 1 to 255 bytes.
    std::string table = "mortise_unique_row";
};

namespace detail {
std::string unique_row_table(sql_dialect dialect, const std::string& table);
asio::awaitable<std::optional<std::int64_t>>
take_unique_row(sql_runner& on, unique_row wanted, std::chrono::milliseconds ttl);
asio::awaitable<bool> renew_unique_row(
    sql_runner& on, unique_row held, std::int64_t token, std::chrono::milliseconds ttl
);
asio::awaitable<bool> release_unique_row(sql_runner& on, unique_row held, std::int64_t token);

// Repeats after a deadlock of two that insert the same row. A commit that is lost needs no trace:
// the row itself tells.
inline transaction_options unique_row_transaction(sql_dialect dialect) {
    transaction_options options{.attempts_max = 16, .traced = false};
    if (dialect == sql_dialect::postgres)
        options.level = isolation::read_committed;
    return options;
}
}  // namespace detail

/// Makes the table, if it is not there.
template <detail::sql_session Session>
asio::awaitable<void>
make_unique_row_table(Session& session, std::string table = "mortise_unique_row") {
    std::vector<std::string> statements;
    statements.push_back(detail::unique_row_table(detail::dialect_of<Session>::value, table));
    auto making = detail::define_tables(session, std::move(statements));
    co_await std::move(making);
}

/// Takes the row unless somebody has it, the same owner included. Does not wait for it. `session`
/// is a `db::sqlite`, a `db::postgres` or a `db::mysql`.
///
/// @par Completion   the token, which is higher than each one before of that name as long as the
///                   row is kept, and after its removal as long as the clock of the database is not
///                   set back; nothing if the row is taken.
/// @par Errors       throws `error`: `value_refused` (the name or the owner is empty or too long),
///                   `duration_negative`, `duration_too_long`; and as the session's `async_run`.
///                   After `commit_unknown` the row may be taken; it then expires by itself.
/// @par Cancellation as `async_run`: if it ends with `operation_aborted` at a server, the row was
///                   not taken; on SQLite it may have been.
/// @par Threads      The caller's executor must be a strand, or its context have one thread.
/// @par Lifetimes    `session` must live until it ends. The rest is copied or moved in.
/// @par Cost         A transaction of one statement; at MySQL of two.
template <detail::sql_session Session>
asio::awaitable<std::optional<std::int64_t>>
take_unique_row(Session& session, unique_row wanted, std::chrono::milliseconds ttl) {
    auto work = [&wanted, ttl](detail::sql_runner& on) {
        return detail::take_unique_row(on, wanted, ttl);
    };
    auto taking = detail::run_in_transaction(
        session, detail::unique_row_transaction(detail::dialect_of<Session>::value), work
    );
    co_return co_await std::move(taking);
}

/// Puts the end of the row off, to `ttl` from now. It is never brought forward. All else as
/// `take_unique_row`. @return false if it has expired: stop.
template <detail::sql_session Session>
asio::awaitable<bool> renew_unique_row(
    Session& session, unique_row held, std::int64_t token, std::chrono::milliseconds ttl
) {
    auto work = [&held, token, ttl](detail::sql_runner& on) {
        return detail::renew_unique_row(on, held, token, ttl);
    };
    auto renewing = detail::run_in_transaction(
        session, detail::unique_row_transaction(detail::dialect_of<Session>::value), work
    );
    co_return co_await std::move(renewing);
}

/// Gives the row back, if owner and token are still those that have it. All else as
/// `take_unique_row`.
/// @return false if it was somebody else's by then: the work of both may have overlapped.
template <detail::sql_session Session>
asio::awaitable<bool> release_unique_row(Session& session, unique_row held, std::int64_t token) {
    auto work = [&held, token](detail::sql_runner& on) {
        return detail::release_unique_row(on, held, token);
    };
    auto releasing = detail::run_in_transaction(
        session, detail::unique_row_transaction(detail::dialect_of<Session>::value), work
    );
    co_return co_await std::move(releasing);
}

}  // namespace mortise::db

#endif
