// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/connection.hpp"

#include "db/prepared.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/db/sqlite_error.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace mortise::db {

connection::connection(sqlite3* handle, std::size_t statements_max)
    : handle_(handle), statements_max_(statements_max) {
    MORTISE_ASSERT(handle != nullptr);
}

connection::~connection() = default;

statement connection::prepare(std::string_view sql) {
    const auto found = std::find_if(statements_.begin(), statements_.end(), [&](const auto& each) {
        return each.use_count() == 1 && each->sql == sql;  // 1: not in use
    });
    if (found != statements_.end()) {
        (*found)->last_use = ++uses_;
        return statement(*found);
    }
    auto use = std::make_shared<detail::prepared>(std::string(sql));
    std::string_view rest;
    const int code =
        use->statement.prepare(handle_, use->sql, sqlite_detail::statement_use::often, &rest);
    if (code != SQLITE_OK)
        throw detail::failure_of(handle_, code, use->sql);
    // SQLite would silently ignore a second statement in the same text.
    if (!use->statement || rest.find_first_not_of(" \t\r\n;") != std::string_view::npos)
        throw error(sqlite_error(SQLITE_MISUSE), use->sql, "give one statement at a time");
    use->last_use = ++uses_;
    make_room();
    if (statements_.size() < statements_max_)
        statements_.push_back(use);
    return statement(std::move(use));
}

void connection::make_room() {
    if (statements_.empty() || statements_.size() < statements_max_)
        return;
    const auto oldest =
        std::min_element(statements_.begin(), statements_.end(), [](const auto& a, const auto& b) {
            return a->last_use < b->last_use;
        });
    statements_.erase(oldest);
}

query_result connection::run(const bound_sql& bound) {
    statement prepared = prepare(bound.text);
    for (const column_value& each : bound.values)
        prepared.bind_value(each);
    query_result found;
    while (prepared.step())
        found.rows.push_back(prepared.copy_row());
    found.affected =
        prepared.columns() > 0 ? static_cast<std::int64_t>(found.rows.size()) : changes();
    return found;
}

std::int64_t connection::changes() const noexcept {
    return ::sqlite3_changes(handle_);
}

std::int64_t connection::last_insert_id() const noexcept {
    return ::sqlite3_last_insert_rowid(handle_);
}

void connection::reset_statements() noexcept {
    for (auto* each = ::sqlite3_next_stmt(handle_, nullptr); each != nullptr;
         each = ::sqlite3_next_stmt(handle_, each)) {
        if (::sqlite3_stmt_busy(each) != 0)
            ::sqlite3_reset(each);
    }
}

void connection::after_commit(std::string_view name, std::function<void()> then) {
    const bool known = std::any_of(calls_.begin(), calls_.end(), [&](const call& each) {
        return each.name == name;
    });
    if (!known)
        calls_.push_back({std::string(name), std::move(then)});
}

void connection::forget_calls(std::size_t after) noexcept {
    if (after < calls_.size())
        calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(after), calls_.end());
}

void connection::make_calls() noexcept {
    for (const auto& each : std::exchange(calls_, {}))
        each.then();
}

}  // namespace mortise::db
