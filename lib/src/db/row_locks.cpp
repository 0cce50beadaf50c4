// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/row_locks.hpp"

#include "db/sql_builder.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

namespace mortise::db::detail {
namespace {

using std::chrono::milliseconds;

error busy_failure(std::string thing) {
    return error(
        errc::row_busy,
        std::move(thing),
        "see which transaction holds it for so long, wait longer, or run this one again"
    );
}

// More than three weeks are more than PostgreSQL can count.
milliseconds bounded(milliseconds wait_max) {
    constexpr milliseconds longest = std::chrono::hours(24 * 21);
    return wait_max == wait_as_configured ? wait_max : std::min(wait_max, longest);
}

// The words for the limit behind a locking statement. PostgreSQL knows NOWAIT only.
std::string limit_words(sql_dialect dialect, milliseconds wait_max) {
    if (wait_max < milliseconds::zero())
        throw error(errc::duration_negative, std::to_string(wait_max.count()) + " ms", {});
    if (wait_max == milliseconds::zero())
        return " NOWAIT";
    if (wait_max == wait_as_configured || dialect == sql_dialect::postgres)
        return {};
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(bounded(wait_max));
    return " WAIT " + std::to_string(seconds.count());
}

// Sets PostgreSQL's limit until the end of the transaction. @return the one before
asio::awaitable<std::string> set_limit(sql_runner& on, std::string limit) {
    bound_sql setting(
        "SELECT current_setting('lock_timeout'), set_config('lock_timeout', $1::text, true)", limit
    );
    auto running = on.run(std::move(setting));
    const query_result found = co_await std::move(running);
    co_return found.first().text(std::size_t{0});
}

// Runs a locking statement. After a failure PostgreSQL takes the limit back with the transaction,
// or with the savepoint to which the caller returns.
asio::awaitable<query_result>
run_locking(sql_runner& on, bound_sql statement, std::string thing, milliseconds wait_max) {
    wait_max = bounded(wait_max);
    const bool limited = on.dialect() == sql_dialect::postgres && wait_max > milliseconds::zero() &&
                         wait_max != wait_as_configured;
    std::string before;
    if (limited) {
        auto setting = set_limit(on, std::to_string(wait_max.count()) + "ms");
        before = co_await std::move(setting);
    }
    query_result found;
    try {
        auto locking = on.run(std::move(statement));
        found = co_await std::move(locking);
    } catch (const boost::system::system_error& failed) {
        if (failed.code() == condition::row_held)
            throw busy_failure(std::move(thing));
        throw;
    }
    if (limited) {
        auto setting = set_limit(on, std::move(before));
        co_await std::move(setting);
    }
    co_return found;
}

}  // namespace

asio::awaitable<row> lock_row(sql_runner& on, table_row target, milliseconds wait_max) {
    sql_builder select(on.dialect());
    select.text("SELECT * FROM ").row(target).text(" FOR UPDATE");
    select.text(limit_words(on.dialect(), wait_max));
    const error missing =
        row_failure(errc::row_missing, target, "insert it first, or see whether it was removed");
    auto locking = run_locking(on, select.take(), missing.value(), wait_max);
    const query_result found = co_await std::move(locking);
    if (found.empty())
        throw missing;
    co_return found.first();
}

asio::awaitable<std::vector<row>>
lock_rows(sql_runner& on, std::vector<table_row> targets, milliseconds wait_max) {
    using key = std::tuple<std::string, std::string, column_value>;
    std::map<key, row> locked;
    for (const table_row& each : targets)
        locked.try_emplace(key(each.table, each.id_column, each.id));
    for (auto& [place, found] : locked) {
        table_row target(std::get<0>(place), std::get<2>(place));
        target.id_column = std::get<1>(place);
        auto locking = lock_row(on, std::move(target), wait_max);
        found = co_await std::move(locking);
    }
    std::vector<row> rows;
    for (const table_row& each : targets)
        rows.push_back(locked.at(key(each.table, each.id_column, each.id)));
    co_return rows;
}

asio::awaitable<std::vector<row>> lock_free_rows(
    sql_runner& on,
    std::string table,
    bound_sql filter,
    std::uint32_t rows_max,
    std::string order_column
) {
    sql_builder select(on.dialect());
    select.text("SELECT * FROM ").table(table);
    if (!filter.text.empty())
        select.text(" WHERE (").text(filter.text).text(")");
    select.text(" ORDER BY ").name(order_column).text(" LIMIT " + std::to_string(rows_max));
    bound_sql statement = select.text(" FOR UPDATE SKIP LOCKED").take();
    statement.values = std::move(filter.values);
    auto locking = on.run(std::move(statement));
    query_result found = co_await std::move(locking);
    co_return std::move(found.rows);
}

asio::awaitable<void> lock_table(sql_runner& on, std::string table, milliseconds wait_max) {
    sql_builder lock(on.dialect());
    lock.text("LOCK TABLE ").table(table).text(" IN EXCLUSIVE MODE");
    lock.text(limit_words(on.dialect(), wait_max));
    auto locking = run_locking(on, lock.take(), std::move(table), wait_max);
    co_await std::move(locking);
}

}  // namespace mortise::db::detail
