// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_XA_MYSQL_HPP
#define MORTISE_TXN_XA_MYSQL_HPP

#include "mortise/db/mysql.hpp"
#include "mortise/db/mysql_error.hpp"
#include "mortise/txn/detail/xa_session.hpp"
#include "mortise/txn/xa_participant.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace mortise::txn {

/// The work of a branch at MariaDB or MySQL. Its statements run in the transaction that is
/// prepared then. A reply other than `done`, and an exception, undo it; an exception is a failed
/// call, which is repeated.
using mysql_work =
    std::function<asio::awaitable<reply>(db::mysql_connection& on, const call& request)>;

namespace detail {
// Both parts of the name are one text. Its columns are the format, the size of each part, and that.
inline std::optional<prepared_transaction> mysql_listed(const db::row& in) {
    constexpr std::int64_t own_format = 1;
    const auto size = static_cast<std::size_t>(in.integer(1));
    const auto& name = in.bytes(3);
    if (in.integer(0) != own_format || name.size() < size)
        return std::nullopt;
    return prepared_as(name.substr(0, size), name.substr(size));
}

inline const xa_statements& mysql_statements() {
    static const xa_statements all = {
        "SELECT 'use MariaDB 10.5 or newer, or MySQL 8.0.29 or newer: older ones roll back what is"
        " prepared when its connection ends' FROM (SELECT SUBSTRING_INDEX(VERSION(), '-', 1) AS v,"
        " VERSION() LIKE '%MariaDB%' AS m) s WHERE SUBSTRING_INDEX(v, '.', 1) * 1000000"
        " + SUBSTRING_INDEX(SUBSTRING_INDEX(v, '.', 2), '.', -1) * 1000 + SUBSTRING_INDEX(v, '.', "
        "-1)"
        " < IF(m, 10005000, 8000029)",
        "SELECT CONNECTION_ID()",
        "SELECT participant FROM mortise_txn_xa LIMIT 0",
        "CREATE TABLE IF NOT EXISTS mortise_txn_xa (log BIGINT, participant VARBINARY(255),"
        " number BIGINT, term BIGINT, branch BIGINT, state TINYINT NOT NULL,"
        " PRIMARY KEY (log, number, term, branch)) ENGINE = InnoDB",
        "INSERT INTO mortise_txn_xa VALUES (?, ?, ?, ?, ?, 1)",
        "INSERT INTO mortise_txn_xa VALUES (?, ?, ?, ?, ?, 1)",
        "INSERT IGNORE INTO mortise_txn_xa VALUES (?, ?, ?, ?, ?, 2)",
        "SELECT state FROM mortise_txn_xa WHERE log = ? AND ? IS NOT NULL AND number = ?"
        " AND term = ? AND branch = ?",
        "/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */ DELETE FROM mortise_txn_xa"
        " WHERE log = ? AND participant = ? AND number < ? ORDER BY number LIMIT ?",
        "XA RECOVER",
        &mysql_listed,
        db::mysql_error(1146),
        db::mysql_error(1062),
        error_code(mortise::errc::wrong_server),
    };
    return all;
}
}  // namespace detail

/// Makes a participant whose branches are transactions of a MariaDB or MySQL server. Link
/// `mortise::mysql`.
///
/// Needs MariaDB 10.5 or newer, or MySQL 8.0.29 or newer. All tables of the work are InnoDB's.
///
/// With `read_only` options, branches drop out after their tries. The server does not tell of a
/// transaction that it has changed nothing, so others are prepared.
///
/// It keeps a table `mortise_txn_xa`, made on first use. Rows of transactions that have ended are
/// deleted after `notes_kept`, in portions.
///
/// @param work that of all branches which bring none along; null: each must
/// @param calls_at_once at most as many as the session has connections (`connections_max`)
/// @par Errors       A server that cannot do it fails each try by `wrong_server`, with what to do.
/// @par Lifetimes    The session lives until the last call has ended.
/// @par Cost         Of a try: the statements of the work, one more, and the preparation. Of a
///                   confirm one statement, of a cancel a transaction more.
inline std::shared_ptr<xa_participant> xa_mysql(
    std::shared_ptr<db::mysql> database,
    mysql_work work,
    std::size_t calls_at_once,
    db::transaction_options options = {},
    std::chrono::milliseconds notes_kept = xa_participant::notes_kept_default
) {
    using manager = detail::xa_session<db::mysql, db::mysql_connection>;
    return std::make_shared<xa_participant>(
        std::make_shared<manager>(
            std::move(database), std::move(work), detail::mysql_statements(), options
        ),
        calls_at_once,
        notes_kept
    );
}

/// The same for branches that bring their work along as closures: `on_mysql`.
inline std::shared_ptr<xa_participant> xa_mysql(
    std::shared_ptr<db::mysql> database,
    std::size_t calls_at_once,
    db::transaction_options options = {},
    std::chrono::milliseconds notes_kept = xa_participant::notes_kept_default
) {
    return xa_mysql(std::move(database), nullptr, calls_at_once, options, notes_kept);
}

/// Makes the work of a branch from `work(db::mysql_connection&)`, which gives an
/// `asio::awaitable<T>`; see `on_connection`.
template <class Work>
auto on_mysql(Work work) {
    return on_connection<db::mysql_connection>(std::move(work));
}

}  // namespace mortise::txn

#endif
