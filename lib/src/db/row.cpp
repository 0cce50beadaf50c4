// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/row.hpp"

#include "mortise/db/sqlite_error.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace mortise::db {
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

[[noreturn]] void fail(int code, std::string_view column, const char* remedy) {
    throw error(sqlite_error(code), "column " + std::string(column), remedy);
}

}  // namespace

void bind_value(statement& to, const column_value& value) {
    std::visit(binder{to}, value);
}

row::row(const statement& from) {
    for (int i = 0; i < from.columns(); ++i)
        cells_.push_back({from.name(i), value_in(from, i)});
}

const row::cell& row::find(std::string_view column) const {
    const auto found = std::find_if(cells_.begin(), cells_.end(), [column](const cell& each) {
        return each.name == column;
    });
    if (found == cells_.end())
        fail(SQLITE_ERROR, column, "there is none of that name");
    return *found;
}

bool row::is_null(std::string_view column) const {
    return std::holds_alternative<std::monostate>(find(column).value);
}

std::int64_t row::integer(std::string_view column) const {
    const auto* const held = std::get_if<std::int64_t>(&find(column).value);
    if (held == nullptr)
        fail(SQLITE_MISMATCH, column, "it holds no integer");
    return *held;
}

double row::real(std::string_view column) const {
    const column_value& held = find(column).value;
    if (const auto* const whole = std::get_if<std::int64_t>(&held))
        return static_cast<double>(*whole);
    const auto* const real = std::get_if<double>(&held);
    if (real == nullptr)
        fail(SQLITE_MISMATCH, column, "it holds no number");
    return *real;
}

const std::string& row::text(std::string_view column) const {
    const auto* const held = std::get_if<std::string>(&find(column).value);
    if (held == nullptr)
        fail(SQLITE_MISMATCH, column, "it holds no text");
    return *held;
}

const column_value& row::value(std::string_view column) const {
    return find(column).value;
}

void row::set(std::string_view column, column_value value) {
    auto& target = const_cast<cell&>(find(column));  // *this is not const
    target.value = std::move(value);
    target.changed = true;
}

bool row::changed() const noexcept {
    return std::any_of(cells_.begin(), cells_.end(), [](const cell& each) { return each.changed; });
}

}  // namespace mortise::db
