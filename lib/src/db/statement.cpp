// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/statement.hpp"

#include "db/prepared.hpp"
#include "mortise/db/sqlite_error.hpp"

#include <sqlite3.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::db {

using sqlite_detail::parameter_bytes;

namespace {

column_value value_in(const statement& from, int column) {
    switch (from.type(column)) {
    case SQLITE_INTEGER:
        return from.integer(column);
    case SQLITE_FLOAT:
        return from.real(column);
    case SQLITE_TEXT:
        return from.text(column);
    case SQLITE_BLOB:
        return blob(from.text(column));
    default:
        return {};
    }
}

struct binder {
    statement& to;

    void operator()(std::monostate) const { to.bind(nullptr); }
    void operator()(std::int64_t value) const { to.bind(value); }
    void operator()(double value) const { to.bind(value); }
    void operator()(const std::string& value) const { to.bind(std::string_view(value)); }
    void operator()(const blob& value) const { to.bind_bytes(value.bytes); }
};

}  // namespace

error detail::failure_of(sqlite3* db, int code, const std::string& sql) {
    const int extended = ::sqlite3_extended_errcode(db);
    return error(
        sqlite_error((extended & 0xff) == (code & 0xff) ? extended : code),
        ::sqlite3_errmsg(db),
        "the statement was: " + sql
    );
}

statement::statement(std::shared_ptr<detail::prepared> use) noexcept : use_(std::move(use)) {}

statement::~statement() {
    if (use_)
        use_->statement.reset();
}

void statement::require(int result_code) const {
    if (result_code != SQLITE_OK)
        throw detail::failure_of(use_->statement.connection(), result_code, use_->sql);
}

statement& statement::bind_integer(std::int64_t value) {
    require(use_->statement.bind(++bound_, value));
    return *this;
}

statement& statement::bind(double value) {
    require(use_->statement.bind(++bound_, value));
    return *this;
}

statement& statement::bind(std::string_view text) {
    require(use_->statement.bind_text(++bound_, text, parameter_bytes::copied));
    return *this;
}

statement& statement::bind(std::nullptr_t) {
    require(use_->statement.bind_null(++bound_));
    return *this;
}

statement& statement::bind_bytes(std::string_view bytes) {
    require(use_->statement.bind_blob(++bound_, bytes, parameter_bytes::copied));
    return *this;
}

statement& statement::bind_value(const column_value& value) {
    std::visit(binder{*this}, value);
    return *this;
}

bool statement::step() {
    const int code = use_->statement.step();
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        require(code);
    return code == SQLITE_ROW;
}

void statement::run() {
    while (step()) {
    }
}

int statement::columns() const noexcept {
    return use_->statement.columns();
}

std::string statement::name(int column) const {
    return std::string(use_->statement.name(column));
}

bool statement::is_null(int column) const noexcept {
    return type(column) == SQLITE_NULL;
}

std::int64_t statement::integer(int column) const noexcept {
    return use_->statement.integer(column);
}

double statement::real(int column) const noexcept {
    return use_->statement.real(column);
}

std::string statement::text(int column) const {
    return std::string(use_->statement.text(column));
}

std::optional<std::string> statement::text_or_null(int column) const {
    if (is_null(column))
        return std::nullopt;
    return text(column);
}

int statement::type(int column) const noexcept {
    return use_->statement.type(column);
}

row statement::copy_row() const {
    std::vector<std::string> names;
    std::vector<column_value> values;
    for (int i = 0; i < columns(); ++i) {
        names.push_back(name(i));
        values.push_back(value_in(*this, i));
    }
    return row(
        std::make_shared<const std::vector<std::string>>(std::move(names)), std::move(values)
    );
}

}  // namespace mortise::db
