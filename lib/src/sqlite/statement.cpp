// SPDX-License-Identifier: BSL-1.0
#include "sqlite/statement.hpp"

#include <sqlite3.h>

#include <cstddef>

namespace mortise::sqlite_detail {
namespace {

// A null pointer would bind NULL, so give empty bytes an address, too.
const char* address_of(std::string_view bytes) noexcept {
    return bytes.empty() ? "" : bytes.data();
}

sqlite3_destructor_type destructor_of(parameter_bytes bytes) noexcept {
    return bytes == parameter_bytes::borrowed ? SQLITE_STATIC : SQLITE_TRANSIENT;
}

}  // namespace

int statement::prepare(
    sqlite3* db, std::string_view sql, statement_use use, std::string_view* rest
) noexcept {
    finalize();
    const char* end = nullptr;
    const unsigned flags = use == statement_use::often ? SQLITE_PREPARE_PERSISTENT : 0;
    const int code = ::sqlite3_prepare_v3(
        db, address_of(sql), static_cast<int>(sql.size()), flags, &handle_, &end
    );
    if (rest != nullptr && code == SQLITE_OK)
        *rest = sql.substr(static_cast<std::size_t>(end - address_of(sql)));
    return code;
}

sqlite3* statement::connection() const noexcept {
    return ::sqlite3_db_handle(handle_);
}

void statement::finalize() noexcept {
    ::sqlite3_finalize(std::exchange(handle_, nullptr));
}

int statement::bind(int parameter, std::int64_t value) noexcept {
    return ::sqlite3_bind_int64(handle_, parameter, value);
}

int statement::bind(int parameter, double value) noexcept {
    return ::sqlite3_bind_double(handle_, parameter, value);
}

int statement::bind_null(int parameter) noexcept {
    return ::sqlite3_bind_null(handle_, parameter);
}

int statement::bind_text(int parameter, std::string_view text, parameter_bytes bytes) noexcept {
    return ::sqlite3_bind_text64(
        handle_, parameter, address_of(text), text.size(), destructor_of(bytes), SQLITE_UTF8
    );
}

int statement::bind_blob(int parameter, std::string_view blob, parameter_bytes bytes) noexcept {
    return ::sqlite3_bind_blob64(
        handle_, parameter, address_of(blob), blob.size(), destructor_of(bytes)
    );
}

int statement::step() noexcept {
    return ::sqlite3_step(handle_);
}

void statement::reset() noexcept {
    ::sqlite3_reset(handle_);  // returns the code of the last step again; it was reported
    ::sqlite3_clear_bindings(handle_);
}

int statement::columns() const noexcept {
    return ::sqlite3_column_count(handle_);
}

std::string_view statement::name(int column) const noexcept {
    const char* const text = ::sqlite3_column_name(handle_, column);
    return text ? text : "";
}

int statement::type(int column) const noexcept {
    return ::sqlite3_column_type(handle_, column);
}

std::int64_t statement::integer(int column) const noexcept {
    return ::sqlite3_column_int64(handle_, column);
}

double statement::real(int column) const noexcept {
    return ::sqlite3_column_double(handle_, column);
}

// An empty blob has a null address. The size is asked last: a conversion may change it.
std::string_view statement::blob(int column) const noexcept {
    const void* const data = ::sqlite3_column_blob(handle_, column);
    const auto size = static_cast<std::size_t>(::sqlite3_column_bytes(handle_, column));
    return data ? std::string_view(static_cast<const char*>(data), size) : std::string_view();
}

std::string_view statement::text(int column) const noexcept {
    if (type(column) == SQLITE_BLOB)
        return blob(column);
    const unsigned char* const data = ::sqlite3_column_text(handle_, column);
    const auto size = static_cast<std::size_t>(::sqlite3_column_bytes(handle_, column));
    return data ? std::string_view(reinterpret_cast<const char*>(data), size) : std::string_view();
}

}  // namespace mortise::sqlite_detail
