// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/unique_row.hpp"

#include "db/sql_builder.hpp"

#include <cstddef>
#include <string_view>

namespace mortise::db::detail {
namespace {

constexpr std::size_t lock_name_size_max = 1024;
constexpr std::size_t owner_size_max = 255;

// Microseconds since 1970 by the server's clock, whatever its time zone is.
constexpr std::string_view now_of(sql_dialect dialect) {
    switch (dialect) {
    case sql_dialect::sqlite:
        return "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)";
    case sql_dialect::postgres:
        return "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)";
    case sql_dialect::mysql:
        return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";
    }
    return {};
}

std::int64_t microseconds(std::chrono::milliseconds ttl) {
    constexpr std::chrono::hours longest{24 * 365 * 100};
    if (ttl < std::chrono::milliseconds::zero())
        throw error(errc::duration_negative, std::to_string(ttl.count()) + " ms", {});
    if (ttl > longest)
        throw error(errc::duration_too_long, std::to_string(ttl.count()) + " ms", {});
    return std::chrono::microseconds(ttl).count();
}

void check(const unique_row& wanted) {
    if (wanted.name.empty() || wanted.name.size() > lock_name_size_max)
        throw error(errc::value_refused, wanted.name, "name a unique row by 1 to 1,024 bytes");
    if (wanted.owner.empty() || wanted.owner.size() > owner_size_max)
        throw error(errc::value_refused, wanted.owner, "name an owner by 1 to 255 bytes");
}

// ` WHERE` it is held by that owner with that token.
sql_builder& where_held(sql_builder& sql, const unique_row& held, std::int64_t token) {
    check(held);
    sql.text(" WHERE name = ").value(blob(held.name)).text(" AND owner = ").value(blob(held.owner));
    return sql.text(" AND token = ").value(token);
}

asio::awaitable<bool> changes_one(sql_runner& on, bound_sql statement) {
    auto changing = on.run(std::move(statement));
    const query_result changed = co_await std::move(changing);
    co_return changed.affected == 1;
}

// The token that was to be inserted is the time of the call. MySQL assigns from left to right, so
// `expires`, by which all decide, comes last.
constexpr std::string_view take_over_at_mysql =
    " ON DUPLICATE KEY UPDATE"
    " token = IF(expires <= VALUES(token), GREATEST(token + 1, VALUES(token)), token),"
    " owner = IF(expires <= VALUES(token), VALUES(owner), owner),"
    " expires = IF(expires <= VALUES(token), VALUES(expires), expires)";

// The larger of two numbers.
constexpr std::string_view larger_of(sql_dialect dialect) {
    return dialect == sql_dialect::sqlite ? "max" : "greatest";
}

}  // namespace

std::string unique_row_table(sql_dialect dialect, const std::string& table) {
    const char* columns = "(name BLOB PRIMARY KEY, owner BLOB NOT NULL, token INTEGER NOT NULL,"
                          " expires INTEGER NOT NULL)";
    if (dialect == sql_dialect::postgres)
        columns = "(name bytea PRIMARY KEY, owner bytea NOT NULL, token bigint NOT NULL,"
                  " expires bigint NOT NULL)";
    if (dialect == sql_dialect::mysql)
        columns = "(name VARBINARY(1024) PRIMARY KEY, owner VARBINARY(255) NOT NULL,"
                  " token BIGINT NOT NULL, expires BIGINT NOT NULL) ENGINE=InnoDB";
    sql_builder create(dialect);
    return create.text("CREATE TABLE IF NOT EXISTS ").table(table).text(columns).take().text;
}

asio::awaitable<std::optional<std::int64_t>>
take_unique_row(sql_runner& on, unique_row wanted, std::chrono::milliseconds ttl) {
    check(wanted);
    const auto now = now_of(on.dialect());
    sql_builder take(on.dialect());
    take.text("INSERT INTO ").table(wanted.table);
    if (on.dialect() != sql_dialect::mysql)
        take.text(" AS held");
    take.text("(name, owner, token, expires) VALUES(").value(blob(wanted.name)).text(", ");
    take.value(blob(wanted.owner)).text(", ").text(now).text(", ").text(now).text(" + ");
    take.value(microseconds(ttl)).text(")");
    const bool at_mysql = on.dialect() == sql_dialect::mysql;
    if (at_mysql) {
        take.text(take_over_at_mysql);
    } else {
        take.text(" ON CONFLICT(name) DO UPDATE SET owner = excluded.owner, token = ");
        take.text(larger_of(on.dialect())).text("(held.token + 1, excluded.token), expires = ");
        take.text("excluded.expires WHERE held.expires <= excluded.token RETURNING token");
    }
    auto taking = on.run(take.take());
    query_result taken = co_await std::move(taking);
    if (taken.affected == 0)
        co_return std::nullopt;
    if (at_mysql) {
        sql_builder look(on.dialect());
        look.text("SELECT token FROM ").table(wanted.table);
        look.text(" WHERE name = ").value(blob(wanted.name));
        auto looking = on.run(look.take());
        taken = co_await std::move(looking);
    }
    co_return taken.first().integer("token");
}

asio::awaitable<bool> renew_unique_row(
    sql_runner& on, unique_row held, std::int64_t token, std::chrono::milliseconds ttl
) {
    const auto now = now_of(on.dialect());
    sql_builder renew(on.dialect());
    renew.text("UPDATE ").table(held.table).text(" SET expires = ").text(larger_of(on.dialect()));
    // Never the same as before, or MySQL would not count it as a change.
    renew.text("(expires + 1, ").text(now).text(" + ").value(microseconds(ttl)).text(")");
    where_held(renew, held, token).text(" AND expires > ").text(now);
    auto renewing = changes_one(on, renew.take());
    co_return co_await std::move(renewing);
}

// The row stays, so that its next token is higher.
asio::awaitable<bool> release_unique_row(sql_runner& on, unique_row held, std::int64_t token) {
    sql_builder release(on.dialect());
    release.text("UPDATE ").table(held.table).text(" SET expires = 0");
    where_held(release, held, token).text(" AND expires <> 0");
    auto releasing = changes_one(on, release.take());
    co_return co_await std::move(releasing);
}

}  // namespace mortise::db::detail
