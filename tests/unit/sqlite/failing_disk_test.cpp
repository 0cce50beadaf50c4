// SPDX-License-Identifier: BSL-1.0
// A full disk: the connection is given up, and nothing that it said is believed.
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <filesystem>
#include <string>

namespace mortise::test::failing_disk_test {
namespace {

void limit_files_to(rlim_t bytes) {
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
}

// In a child, whose limits nobody else has to bear.
TEST(SqliteFailingDisk, AFailedWriteIsReportedAndDoesNotLast) {
    const store_folder folder;
    const still_clock time;
    EXPECT_TRUE(in_dying_child([&] {
        ::signal(SIGXFSZ, SIG_IGN);
        state_user user(folder.config(), time);
        if (user.open() || user.ask("a").type != answer::kind::granted)
            return false;
        const auto log = std::filesystem::file_size(folder.database().string() + "-wal");
        limit_files_to(log);
        bool failed = false;
        for (int i = 0; i < 100 && !failed; ++i) {
            user.ask("name" + std::to_string(i));
            failed = static_cast<bool>(user.asked());
        }
        if (!failed || user.asked() != errc::store_unavailable || user.state.explain().empty())
            return false;
        user.take_notices();
        limit_files_to(RLIM_INFINITY);
        // The new connection sees what is true, and tells the client to look.
        const auto held = user.ask("after");
        return held.type == answer::kind::granted && user.take_notices() == "look_again";
    }));
    // The rows say what the child believed to hold.
    EXPECT_EQ(folder.sql("SELECT count(*) FROM entry WHERE name = x'61' AND queued = 0"), 1);
    EXPECT_EQ(folder.sql("SELECT count(*) FROM entry WHERE name = CAST('after' AS BLOB)"), 1);
}

TEST(SqliteFailingDisk, AForeignWriterIsWaitedForAndThenReported) {
    const store_folder folder;
    const still_clock time;
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    sqlite3* foreign = nullptr;
    ASSERT_EQ(::sqlite3_open(folder.database().c_str(), &foreign), SQLITE_OK);
    ASSERT_EQ(::sqlite3_exec(foreign, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(user.ask("a").type, answer::kind::refused);
    EXPECT_EQ(user.asked(), errc::database_busy) << "nothing was done, and that is known";
    EXPECT_NE(user.state.explain().find("another program"), std::string::npos)
        << user.state.explain();
    ::sqlite3_close(foreign);
    EXPECT_EQ(user.ask("a").type, answer::kind::granted);
}

TEST(SqliteFailingDisk, TheLogIsFoldedBackBySize) {
    const store_folder folder;
    const still_clock time;
    auto config = folder.config();
    config.checkpoint_bytes = 64u << 10;
    state_user user(config, time);
    ASSERT_EQ(user.open(), error_code());
    for (int i = 0; i < 500; ++i) {
        const auto held = user.ask("a");
        ASSERT_TRUE(user.release("a", held.token, user.last_id()));
    }
    EXPECT_LT(std::filesystem::file_size(folder.database().string() + "-wal"), 160u << 10);
}

}  // namespace
}  // namespace mortise::test::failing_disk_test
