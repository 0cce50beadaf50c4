// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_XA_POSTGRES_HPP
#define MORTISE_TXN_XA_POSTGRES_HPP

#include "mortise/db/postgres.hpp"
#include "mortise/db/postgres_error.hpp"
#include "mortise/txn/detail/xa_session.hpp"
#include "mortise/txn/xa_participant.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::txn {

/// The work of a branch at PostgreSQL. Its statements run in the transaction that is
/// prepared then. A reply other than `done`, and an exception, undo it; an exception is a failed
/// call, which is repeated.
using postgres_work =
    std::function<asio::awaitable<reply>(db::postgres_connection& on, const call& request)>;

namespace detail {
// The name is one text, with a slash between its parts.
inline std::optional<prepared_transaction> postgres_listed(const db::row& in) {
    const auto& name = in.text(0);
    const auto slash = name.find('/');
    if (slash == std::string::npos)
        return std::nullopt;
    return prepared_as(
        name.substr(0, slash), name.substr(slash + 1), std::chrono::milliseconds(in.integer(1))
    );
}

inline const xa_statements& postgres_statements() {
    static const xa_statements all = {
        "SELECT 'set max_prepared_transactions to the number of branches that may be prepared at a "
        "time,'"
        " || ' and restart the server' WHERE current_setting('max_prepared_transactions')::int = 0",
        "SELECT pg_backend_pid()",
        "SELECT participant FROM mortise_txn_xa LIMIT 0",
        "CREATE TABLE IF NOT EXISTS mortise_txn_xa (log bigint, participant text, number bigint,"
        " term bigint, branch bigint, state smallint NOT NULL,"
        " PRIMARY KEY (log, number, term, branch))",
        "INSERT INTO mortise_txn_xa SELECT $1::bigint, $2, $3::bigint, $4::bigint, $5::bigint, 1"
        " WHERE pg_current_xact_id_if_assigned() IS NOT NULL",
        "INSERT INTO mortise_txn_xa VALUES ($1, $2, $3, $4, $5, 1)",
        "INSERT INTO mortise_txn_xa VALUES ($1, $2, $3, $4, $5, 2) ON CONFLICT DO NOTHING",
        "SELECT state FROM mortise_txn_xa WHERE log = $1 AND $2::text IS NOT NULL AND number = $3"
        " AND term = $4 AND branch = $5",
        "DELETE FROM mortise_txn_xa WHERE (log, number, term, branch) IN"
        " (SELECT log, number, term, branch FROM mortise_txn_xa"
        " WHERE log = $1 AND participant = $2 AND number < $3"
        " ORDER BY number LIMIT $4 FOR UPDATE SKIP LOCKED)",
        "SELECT gid, (extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint"
        " FROM pg_prepared_xacts WHERE database = current_database()",
        &postgres_listed,
        db::postgres_error("42P01"),
        db::postgres_error("23505"),
        db::postgres_error("42P05"),
    };
    return all;
}
}  // namespace detail

/// Makes a participant whose branches are transactions of a PostgreSQL server. Link
/// `mortise::postgres`.
///
/// Needs PostgreSQL 14 or newer. Its `max_prepared_transactions`, which is 0 by default, limits how
/// many branches may be prepared at a time.
///
/// A branch that has neither written nor locked a row drops out after its try.
///
/// It keeps a table `mortise_txn_xa`, made on first use. Rows of transactions that have ended are
/// deleted after `notes_kept`, in portions.
///
/// @param work that of all branches which bring none along; null: each must
/// @param calls_at_once at most as many as the session has connections (`connections_max`)
/// @par Errors       A server that cannot do it, or a pooler in its place, fails each try by
///                   `wrong_server`, with what to do.
/// @par Lifetimes    The session lives until the last call has ended.
/// @par Cost         Of a try: the statements of the work, one more, and the preparation. Of a
///                   confirm one statement, of a cancel a transaction more.
inline std::shared_ptr<xa_participant> xa_postgres(
    std::shared_ptr<db::postgres> database,
    postgres_work work,
    std::size_t calls_at_once,
    db::transaction_options options = {},
    std::chrono::milliseconds notes_kept = xa_participant::notes_kept_default
) {
    using manager = detail::xa_session<db::postgres, db::postgres_connection>;
    return std::make_shared<xa_participant>(
        std::make_shared<manager>(
            std::move(database), std::move(work), detail::postgres_statements(), options
        ),
        calls_at_once,
        notes_kept
    );
}

/// The same for branches that bring their work along as closures: `on_postgres`.
inline std::shared_ptr<xa_participant> xa_postgres(
    std::shared_ptr<db::postgres> database,
    std::size_t calls_at_once,
    db::transaction_options options = {},
    std::chrono::milliseconds notes_kept = xa_participant::notes_kept_default
) {
    return xa_postgres(std::move(database), nullptr, calls_at_once, options, notes_kept);
}

/// Makes the work of a branch from `work(db::postgres_connection&)`, which gives an
/// `asio::awaitable<T>`; see `on_connection`.
template <class Work>
auto on_postgres(Work work) {
    return on_connection<db::postgres_connection>(std::move(work));
}

}  // namespace mortise::txn

#endif
