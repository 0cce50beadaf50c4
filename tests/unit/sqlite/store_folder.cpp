// SPDX-License-Identifier: BSL-1.0
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace mortise::test {

store_folder::store_folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "mortise-unit-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
}

store_folder::~store_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

sqlite_store_config store_folder::config() const {
    sqlite_store_config config;
    config.path = database();
    return config;
}

std::int64_t store_folder::sql(const std::string& statement) const {
    sqlite3* db = nullptr;
    EXPECT_EQ(::sqlite3_open(database().c_str(), &db), SQLITE_OK);
    ::sqlite3_busy_timeout(db, 5'000);
    sqlite3_stmt* query = nullptr;
    EXPECT_EQ(::sqlite3_prepare_v2(db, statement.c_str(), -1, &query, nullptr), SQLITE_OK)
        << ::sqlite3_errmsg(db);
    const int code = ::sqlite3_step(query);
    EXPECT_TRUE(code == SQLITE_ROW || code == SQLITE_DONE) << ::sqlite3_errmsg(db);
    const std::int64_t number = code == SQLITE_ROW ? ::sqlite3_column_int64(query, 0) : 0;
    ::sqlite3_finalize(query);
    ::sqlite3_close(db);
    return number;
}

std::size_t store_folder::sockets() const {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator(side()))
        count += each.is_socket();
    return count;
}

bool in_dying_child(const std::function<bool()>& body) {
    const pid_t child = ::fork();
    EXPECT_GE(child, 0);
    if (child == 0) {
        bool good = false;
        try {
            good = body();
        } catch (...) {
            good = false;
        }
        ::_exit(good ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace mortise::test
