// SPDX-License-Identifier: BSL-1.0
// The write-ahead log does not grow without end, and nothing is lost by that.
#include "support/fault_vfs.hpp"
#include "unit/db/db_world.hpp"

#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <thread>

namespace mortise::test::db_checkpoint_test {
namespace {

using db::connection;
using db::durability;

constexpr std::size_t log_size = 256u << 10;

class DbCheckpoint : public testing::Test {
protected:
    db::sqlite_config small_log() const {
        auto config = world.config();
        config.checkpoint_bytes = log_size;
        return config;
    }

    /// A writer that is never idle: several are in flight all the time.
    void write_on(db::sqlite& session, int& left, std::uintmax_t& largest) {
        session.async_run(
            [at = left](connection& on) {
                on.run("UPDATE account SET cents = cents + 1 WHERE id = 1");
                on.run("INSERT INTO page VALUES(?, zeroblob(3000))", at);
            },
            durability::lazy,
            [&](error_code ec) {
                EXPECT_FALSE(ec) << ec.message();
                largest = std::max(largest, world.log_size());
                if (--left > 0)
                    write_on(session, left, largest);
            }
        );
    }

    std::uintmax_t write_busily(db::sqlite& session, int count) {
        world.sql("CREATE TABLE IF NOT EXISTS page(at INTEGER, bytes BLOB)");
        std::uintmax_t largest = 0;
        int left = count;
        for (int i = 0; i < 8; ++i)
            write_on(session, left, largest);
        world.context.restart();
        world.context.run();
        return largest;
    }

    db_world world;
};

TEST_F(DbCheckpoint, TheLogOfAWriterThatNeverRestsStaysBounded) {
    db::sqlite session = world.open(small_log());
    const auto largest = write_busily(session, 4'000);
    EXPECT_GT(largest, log_size);
    // Four times the size, and a batch.
    EXPECT_LT(largest, 6 * log_size) << "much more was written";
    EXPECT_GE(session.stats().checkpoints, 4u);
    EXPECT_EQ(world.cents(1), 100 + 4'007);
    EXPECT_EQ(world.sql("SELECT count(*) FROM page"), 4'007);
}

TEST_F(DbCheckpoint, TwoSessionsOnOneFileLoseNothingAndOneAloneBoundsTheLog) {
    db::sqlite one = world.open(small_log());
    db::sqlite other = world.open(small_log());
    world.sql("CREATE TABLE page(at INTEGER, bytes BLOB)");
    std::uintmax_t largest = 0;
    int left_of_one = 1'500;
    int left_of_other = 1'500;
    for (int i = 0; i < 4; ++i) {
        write_on(one, left_of_one, largest);
        write_on(other, left_of_other, largest);
    }
    world.context.restart();
    world.context.run();
    EXPECT_EQ(world.cents(1), 100 + 2 * 1'503);
    EXPECT_EQ(world.sql("SELECT count(*) FROM page"), 2 * 1'503);
    EXPECT_EQ(
        world.sql("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1
    );
    EXPECT_GE(one.stats().checkpoints + other.stats().checkpoints, 2u);
    // While both write, the log may grow as it likes. One alone brings it back to its size.
    write_busily(one, 500);
    EXPECT_LE(world.log_size(), 6 * log_size);
}

TEST_F(DbCheckpoint, ACommitDoesNotWaitForACheckpointThatIsStuck) {
    fault_vfs disk;
    auto config = small_log();
    config.vfs = disk.name();
    db::sqlite session = world.open(config);
    world.sql("CREATE TABLE page(at INTEGER, bytes BLOB)");
    disk.hold_syncs();  // a pass syncs the log before it copies
    int left = 40;      // enough for a pass, and not for the size at which the writer waits
    std::uintmax_t largest = 0;
    write_on(session, left, largest);
    world.context.restart();
    world.context.run();
    EXPECT_EQ(session.stats().checkpoints, 0u);
    EXPECT_GT(session.stats().log_bytes, log_size + log_size / 4) << "it went on beside the pass";
    EXPECT_LT(session.stats().log_bytes, 4 * log_size);
    disk.wait_for_held_sync();
    disk.release_syncs();
    EXPECT_EQ(world.cents(1), 100 + 40);
}

TEST_F(DbCheckpoint, TheLastSessionToLeaveCopiesTheLogBack) {
    {
        db::sqlite session = world.open();
        world.run([](db::sqlite& on) -> asio::awaitable<void> {
            co_await on.async_run(add_cents(1, 1));
            co_await on.async_stop();
        }(session));
        EXPECT_EQ(world.log_size(), 0u);
        EXPECT_FALSE(std::filesystem::exists(world.database().string() + "-wal"));
    }
    EXPECT_EQ(world.cents(1), 101);
}

TEST_F(DbCheckpoint, ALongReadHoldsTheLogAndItsEndLetsItGo) {
    sqlite3* reader = nullptr;
    ASSERT_EQ(::sqlite3_open(world.database().c_str(), &reader), SQLITE_OK);
    const auto run = [&](const char* sql) {
        return ::sqlite3_exec(reader, sql, nullptr, nullptr, nullptr);
    };
    db::sqlite session = world.open(small_log());
    ASSERT_EQ(run("BEGIN"), SQLITE_OK);
    ASSERT_EQ(run("SELECT * FROM account"), SQLITE_OK);
    const auto held = write_busily(session, 1'000);
    EXPECT_GT(held, 3'000'000u) << "nothing could be given back";
    ASSERT_EQ(run("COMMIT"), SQLITE_OK);
    ::sqlite3_close(reader);
    write_busily(session, 500);
    EXPECT_LE(world.log_size(), 6 * log_size) << "the file is cut, too";
}

}  // namespace
}  // namespace mortise::test::db_checkpoint_test
