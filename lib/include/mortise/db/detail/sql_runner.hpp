// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_DETAIL_SQL_RUNNER_HPP
#define MORTISE_DB_DETAIL_SQL_RUNNER_HPP

#include "mortise/db/bound_sql.hpp"
#include "mortise/db/query_result.hpp"
#include "mortise/db/transaction_options.hpp"

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mortise::db {

class mysql;
class mysql_connection;
class postgres;
class postgres_connection;
class sqlite;

/// The SQL that a database understands. MySQL's stands for MariaDB's, too.
enum class sql_dialect : std::uint8_t { sqlite, postgres, mysql };

namespace detail {

template <class T>
struct dialect_of;
template <sql_dialect Dialect>
using dialect_constant = std::integral_constant<sql_dialect, Dialect>;
template <>
struct dialect_of<sqlite> : dialect_constant<sql_dialect::sqlite> {};
template <>
struct dialect_of<postgres> : dialect_constant<sql_dialect::postgres> {};
template <>
struct dialect_of<postgres_connection> : dialect_constant<sql_dialect::postgres> {};
template <>
struct dialect_of<mysql> : dialect_constant<sql_dialect::mysql> {};
template <>
struct dialect_of<mysql_connection> : dialect_constant<sql_dialect::mysql> {};

template <class T>
concept closure_connection =
    std::same_as<T, postgres_connection> || std::same_as<T, mysql_connection>;
template <class T>
concept pooled_session = std::same_as<T, postgres> || std::same_as<T, mysql>;
template <class T>
concept sql_session = pooled_session<T> || std::same_as<T, sqlite>;

/// Runs the statements of a helper, which is compiled once for all databases. Sessions stay
/// templates, so that no helper needs a client library.
class sql_runner {
public:
    virtual ~sql_runner() = default;

    sql_dialect dialect() const noexcept { return dialect_; }
    virtual asio::awaitable<query_result> run(bound_sql statement) = 0;

protected:
    explicit sql_runner(sql_dialect dialect) noexcept : dialect_(dialect) {}

private:
    sql_dialect dialect_;
};

/// In the transaction of a connection to a server.
template <closure_connection Connection>
class connection_runner final : public sql_runner {
public:
    explicit connection_runner(Connection& on) noexcept
        : sql_runner(dialect_of<Connection>::value), on_(on) {}

    asio::awaitable<query_result> run(bound_sql statement) override {
        auto running = on_.async_query(std::move(statement));
        co_return co_await std::move(running);
    }

private:
    Connection& on_;
};

/// Each statement in a transaction of its own.
class sqlite_runner final : public sql_runner {
public:
    explicit sqlite_runner(sqlite& session) noexcept
        : sql_runner(sql_dialect::sqlite), session_(session) {}

    asio::awaitable<query_result> run(bound_sql statement) override;

private:
    sqlite& session_;
};

/// The work of a transaction of one statement.
class one_statement {
public:
    explicit one_statement(bound_sql statement) : statement_(std::move(statement)) {}
    asio::awaitable<query_result> operator()(sql_runner& on) const { return on.run(statement_); }

private:
    bound_sql statement_;
};

/// Awaits `work(sql_runner&)` in a transaction, or on SQLite, where it has a single statement.
template <sql_session Session, class Work>
auto run_in_transaction(Session& session, transaction_options options, Work work)
    -> std::invoke_result_t<Work&, sql_runner&> {
    using returned = std::invoke_result_t<Work&, sql_runner&>;
    if constexpr (std::same_as<Session, sqlite>) {
        sqlite_runner runner(session);
        auto running = work(runner);
        co_return co_await std::move(running);
    } else {
        auto closure = [&work](auto& on) -> returned {
            connection_runner<std::remove_reference_t<decltype(on)>> runner(on);
            auto running = work(runner);
            co_return co_await std::move(running);
        };
        auto running = session.async_run(closure, options);
        co_return co_await std::move(running);
    }
}

/// Runs the statements that define tables, which may be there already.
template <sql_session Session>
asio::awaitable<void> define_tables(Session& session, std::vector<std::string> statements) {
    if constexpr (std::same_as<Session, mysql>) {
        // Its server commits each by itself.
        for (auto& each : statements) {
            auto defining = session.async_query(bound_sql(std::move(each)));
            co_await std::move(defining);
        }
    } else {
        // Two that make the same table of PostgreSQL at the same time would fail.
        if constexpr (std::same_as<Session, postgres>)
            statements.insert(
                statements.begin(), "SELECT pg_advisory_xact_lock(-8204736512930441)"
            );
        auto work = [&statements](sql_runner& on) -> asio::awaitable<void> {
            for (auto& each : statements) {
                auto defining = on.run(bound_sql(each));
                co_await std::move(defining);
            }
        };
        auto defining = run_in_transaction(session, transaction_options(), work);
        co_await std::move(defining);
    }
}

}  // namespace detail
}  // namespace mortise::db

#endif
