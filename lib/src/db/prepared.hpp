// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_PREPARED_HPP
#define MORTISE_DB_PREPARED_HPP

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::db::detail {

/// A prepared statement, in a connection's cache or in use for once.
class prepared {
public:
    prepared(std::string sql, sqlite3_stmt* handle) noexcept
        : sql_(std::move(sql)), handle_(handle) {}
    ~prepared() { ::sqlite3_finalize(handle_); }
    prepared(const prepared&) = delete;
    prepared& operator=(const prepared&) = delete;

    const std::string& sql() const noexcept { return sql_; }
    sqlite3_stmt* handle() const noexcept { return handle_; }

    std::uint64_t last_use = 0;

private:
    std::string sql_;
    sqlite3_stmt* handle_;
};

}  // namespace mortise::db::detail

#endif
