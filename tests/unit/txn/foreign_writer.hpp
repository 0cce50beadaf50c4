// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_TXN_FOREIGN_WRITER_HPP
#define MORTISE_TESTS_UNIT_TXN_FOREIGN_WRITER_HPP

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <filesystem>

namespace mortise::test {

/// Another process in the middle of a write to the database.
class foreign_writer {
public:
    explicit foreign_writer(const std::filesystem::path& database) {
        EXPECT_EQ(::sqlite3_open(database.c_str(), &db_), SQLITE_OK);
        ::sqlite3_busy_timeout(db_, 20'000);
        run("PRAGMA journal_mode = wal");
        run("BEGIN IMMEDIATE");
    }
    ~foreign_writer() { ::sqlite3_close(db_); }
    foreign_writer(const foreign_writer&) = delete;
    foreign_writer& operator=(const foreign_writer&) = delete;

    void run(const char* statement) {
        EXPECT_EQ(::sqlite3_exec(db_, statement, nullptr, nullptr, nullptr), SQLITE_OK);
    }

private:
    sqlite3* db_ = nullptr;
};

}  // namespace mortise::test

#endif
