// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/statement.hpp"

#include "db/extended_error.hpp"
#include "db/prepared.hpp"
#include "mortise/db/sqlite_error.hpp"

namespace mortise::db {

statement::statement(std::shared_ptr<detail::prepared> use) noexcept : use_(std::move(use)) {}

statement::~statement() {
    if (!use_)
        return;
    ::sqlite3_reset(use_->handle());  // returns the code of the last step again; it was reported
    ::sqlite3_clear_bindings(use_->handle());
}

void statement::require(int result_code) const {
    if (result_code == SQLITE_OK)
        return;
    sqlite3* const db = ::sqlite3_db_handle(use_->handle());
    const char* const text = ::sqlite3_errmsg(db);
    throw error(detail::extended_error(db, result_code), text, "the statement was: " + use_->sql());
}

statement& statement::bind_integer(std::int64_t value) {
    require(::sqlite3_bind_int64(use_->handle(), ++bound_, value));
    return *this;
}

statement& statement::bind(double value) {
    require(::sqlite3_bind_double(use_->handle(), ++bound_, value));
    return *this;
}

statement& statement::bind(std::string_view text) {
    // A null pointer would bind NULL, so give an empty text an address, too.
    const char* const data = text.empty() ? "" : text.data();
    require(::sqlite3_bind_text64(
        use_->handle(), ++bound_, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8
    ));
    return *this;
}

statement& statement::bind(std::nullptr_t) {
    require(::sqlite3_bind_null(use_->handle(), ++bound_));
    return *this;
}

statement& statement::bind_bytes(std::string_view bytes) {
    const char* const data = bytes.empty() ? "" : bytes.data();
    require(::sqlite3_bind_blob64(use_->handle(), ++bound_, data, bytes.size(), SQLITE_TRANSIENT));
    return *this;
}

bool statement::step() {
    const int code = ::sqlite3_step(use_->handle());
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        require(code);
    return code == SQLITE_ROW;
}

void statement::run() {
    while (step()) {
    }
}

int statement::columns() const noexcept {
    return ::sqlite3_column_count(use_->handle());
}

std::string statement::name(int column) const {
    const char* const text = ::sqlite3_column_name(use_->handle(), column);
    return text ? text : "";
}

bool statement::is_null(int column) const noexcept {
    return type(column) == SQLITE_NULL;
}

std::int64_t statement::integer(int column) const noexcept {
    return ::sqlite3_column_int64(use_->handle(), column);
}

double statement::real(int column) const noexcept {
    return ::sqlite3_column_double(use_->handle(), column);
}

std::string statement::text(int column) const {
    return text_or_null(column).value_or(std::string());
}

std::optional<std::string> statement::text_or_null(int column) const {
    sqlite3_stmt* const row = use_->handle();
    const int type = ::sqlite3_column_type(row, column);
    if (type == SQLITE_NULL)
        return std::nullopt;
    // Read a blob as it is, without conversion to text. Either may hold zeros; an empty blob has a
    // null address.
    const void* const data = type == SQLITE_BLOB
                                 ? ::sqlite3_column_blob(row, column)
                                 : static_cast<const void*>(::sqlite3_column_text(row, column));
    const auto size = static_cast<std::size_t>(::sqlite3_column_bytes(row, column));
    return data ? std::string(static_cast<const char*>(data), size) : std::string();
}

int statement::type(int column) const noexcept {
    return ::sqlite3_column_type(use_->handle(), column);
}

}  // namespace mortise::db
