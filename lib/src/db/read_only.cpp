// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/read_only.hpp"

#include "mortise/db/sqlite_error.hpp"

#include <sqlite3.h>

namespace mortise::db {

read_only::read_only(const std::filesystem::path& database) {
    const int code = ::sqlite3_open_v2(database.c_str(), &handle_, SQLITE_OPEN_READONLY, nullptr);
    if (code != SQLITE_OK) {
        ::sqlite3_close(handle_);
        throw error(sqlite_error(code), database.native(), "name a database that can be read");
    }
    constexpr int busy_ms = 5'000;
    ::sqlite3_busy_timeout(handle_, busy_ms);
    on_.emplace(handle_);
}

read_only::~read_only() {
    on_.reset();
    ::sqlite3_close(handle_);
}

read_only::snapshot::snapshot(connection& on) : on_(on) {
    on_.run("BEGIN");
}

read_only::snapshot::~snapshot() {
    on_.reset_statements();
    ::sqlite3_exec(on_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace mortise::db
