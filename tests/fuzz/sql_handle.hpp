// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_SQL_HANDLE_HPP
#define MORTISE_TESTS_FUZZ_SQL_HANDLE_HPP

#include "mortise/coro/assert.hpp"

#include <sqlite3.h>

#include <filesystem>
#include <string>

namespace mortise::fuzz {

/// A connection of somebody else's to a database.
class sql_handle {
public:
    explicit sql_handle(const std::filesystem::path& path) {
        const int code = ::sqlite3_open(path.c_str(), &db_);
        MORTISE_ASSERT(code == SQLITE_OK);
    }
    ~sql_handle() { ::sqlite3_close(db_); }
    sql_handle(const sql_handle&) = delete;
    sql_handle& operator=(const sql_handle&) = delete;

    void close() {
        MORTISE_ASSERT(::sqlite3_close(db_) == SQLITE_OK);
        db_ = nullptr;
    }

    sqlite3* get() const noexcept { return db_; }

    /// @return whether it worked.
    bool run(const std::string& sql) {
        return ::sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
    }

private:
    sqlite3* db_ = nullptr;
};

}  // namespace mortise::fuzz

#endif
