// SPDX-License-Identifier: BSL-1.0
#include "sqlite/query.hpp"
#include "sqlite/sqlite_db.hpp"
#include "support/fault_vfs.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace mortise::test::sqlite_db_test {
namespace {

using namespace std::chrono_literals;
using sqlite_detail::number_of;
using sqlite_detail::sqlite_db;

// A program that reads the store holds up a checkpoint, but not those who wait for its end.
TEST(SqliteDb, ACheckpointWaitsForNoReader) {
    const store_folder folder;
    fault_vfs disk;
    disk.sleeps = false;
    sqlite_db db;
    ASSERT_TRUE(db.open(folder.database().string(), false, disk.name().c_str()));
    ASSERT_TRUE(db.set_busy_max(1s));
    ASSERT_TRUE(db.run("PRAGMA journal_mode = WAL") && db.run("CREATE TABLE t(x)"));
    sqlite_db reader;
    ASSERT_TRUE(reader.open(folder.database().string(), true));
    ASSERT_TRUE(reader.run("BEGIN") && reader.run("SELECT * FROM t"));
    ASSERT_TRUE(db.run("INSERT INTO t VALUES(1)"));
    disk.slept = 0;
    db.checkpoint(true);
    EXPECT_EQ(disk.slept, 0);
    EXPECT_FALSE(db.failed());
    EXPECT_EQ(number_of(db, "PRAGMA busy_timeout"), 1'000u) << "statements wait as before";
    ASSERT_TRUE(reader.run("COMMIT"));
    db.checkpoint(true);
    EXPECT_EQ(std::filesystem::file_size(folder.database().string() + "-wal"), 0u);
}

}  // namespace
}  // namespace mortise::test::sqlite_db_test
