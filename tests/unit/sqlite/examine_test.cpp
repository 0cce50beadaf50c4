// SPDX-License-Identifier: BSL-1.0
// What a store finds out about itself: each thing that can be wrong is named, and nothing throws.
#include "sqlite/side_folder.hpp"
#include "sqlite/sqlite_db.hpp"
#include "store/sqlite/examination.hpp"
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace mortise::test::examine_test {
namespace {

using namespace std::chrono_literals;
using verdict = store_finding::verdict;

class SqliteExamine : public testing::Test {
protected:
    std::map<std::string, store_finding> examine(state_user& user) {
        const auto out = user.state.examine();
        EXPECT_EQ(out.code, error_code());
        std::map<std::string, store_finding> found;
        for (const auto& each : out.value) {
            EXPECT_TRUE(found.emplace(each.subject, each).second) << each.subject << " twice";
            EXPECT_TRUE(each.found.ends_with('.')) << each.found;
        }
        return found;
    }

    std::map<std::string, store_finding> examine(const sqlite_store_config& config) {
        state_user user(config, time);
        return examine(user);
    }

    store_folder folder;
    still_clock time;
};

TEST_F(SqliteExamine, FindsNothingBrokenInASoundStoreAndLeavesItAsItWas) {
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    ASSERT_EQ(user.ask("a").type, answer::kind::granted);
    const auto before = std::distance(
        std::filesystem::directory_iterator(folder.side()), std::filesystem::directory_iterator()
    );
    auto found = examine(user);
    for (const char* subject :
         {"SQLite",
          "file system",
          "space",
          "lock",
          "store",
          "rights",
          "datagrams",
          "disk",
          "sessions",
          "journal",
          "tokens",
          "integrity"}) {
        ASSERT_TRUE(found.contains(subject)) << subject;
        EXPECT_NE(found[subject].judgement, verdict::broken) << found[subject].found;
    }
    for (const char* subject :
         {"lock", "store", "rights", "datagrams", "sessions", "journal", "tokens", "integrity"})
        EXPECT_EQ(found[subject].judgement, verdict::holds) << found[subject].found;
    EXPECT_TRUE(found["sessions"].found.starts_with("1 sessions live")) << found["sessions"].found;
    const auto after = std::distance(
        std::filesystem::directory_iterator(folder.side()), std::filesystem::directory_iterator()
    );
    EXPECT_EQ(before, after);
    EXPECT_EQ(user.ask("b").type, answer::kind::granted) << "it still works";
}

TEST_F(SqliteExamine, WhereNothingIsItMakesNothing) {
    const auto found = examine(folder.config());
    EXPECT_EQ(found.at("store").judgement, verdict::holds);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(SqliteExamine, AFileThatIsNoStoreIsAFindingAndNoFailure) {
    std::ofstream(folder.database()) << std::string(5'000, 'x');
    const auto found = examine(folder.config());
    EXPECT_EQ(found.at("store").judgement, verdict::broken);
    EXPECT_NE(found.at("store").found.find(folder.database().string()), std::string::npos);
    EXPECT_FALSE(found.contains("integrity"));
    EXPECT_FALSE(std::filesystem::exists(folder.side()));
}

TEST_F(SqliteExamine, NamesTheFileThatOthersMayUse) {
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    std::filesystem::permissions(folder.database(), std::filesystem::perms(0640));
    auto found = examine(user).at("rights");
    EXPECT_EQ(found.judgement, verdict::weak);
    EXPECT_NE(found.found.find("locks.db is open to other users (mode 640)"), std::string::npos)
        << found.found;
    std::filesystem::permissions(folder.database(), std::filesystem::perms(0600));
    std::filesystem::permissions(folder.side(), std::filesystem::perms(0750));
    found = examine(user).at("rights");
    EXPECT_EQ(found.judgement, verdict::weak);
    EXPECT_NE(found.found.find("locks.db.mortise is open"), std::string::npos) << found.found;
}

TEST_F(SqliteExamine, NamesANetworkFileSystemThatIsAllowed) {
    auto config = folder.config();
    config.file_system_type_override = 0x6969;
    config.allow_network_file_system = true;
    const auto found = examine(config).at("file system");
    EXPECT_EQ(found.judgement, verdict::weak);
    EXPECT_NE(found.found.find("NFS"), std::string::npos);
}

TEST_F(SqliteExamine, SaysThatTheDiskIsTooSmallForTheLog) {
    auto config = folder.config();
    config.checkpoint_bytes = std::size_t{1} << 60;
    EXPECT_EQ(examine(config).at("space").judgement, verdict::weak);
}

TEST_F(SqliteExamine, FindsRowsThatCannotBe) {
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    ASSERT_EQ(user.ask("a").type, answer::kind::granted);
    sqlite_detail::sqlite_db db;
    ASSERT_TRUE(db.open(folder.database().string()));
    ASSERT_TRUE(db.run("PRAGMA ignore_check_constraints = 1; UPDATE entry SET queued = 7"));
    db.close();
    const auto found = examine(user).at("integrity");
    EXPECT_EQ(found.judgement, verdict::broken);
    EXPECT_NE(found.found.find("entry"), std::string::npos) << found.found;
}

TEST_F(SqliteExamine, SaysThatAllTokensAreUsedUp) {
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    const auto end = std::to_string(fencing_token::base_end);
    folder.sql("UPDATE meta SET token_next = " + end + ", token_mark = " + end);
    EXPECT_EQ(examine(user).at("tokens").judgement, verdict::broken);
}

TEST_F(SqliteExamine, SaysThatSomebodyHoldsTheLockForTooLong) {
    state_user user(folder.config(), time);
    ASSERT_EQ(user.open(), error_code());
    sqlite_detail::side_folder other(folder.database().string());
    std::string text;
    other.lock();
    EXPECT_EQ(store_detail::examine_lock(folder.database().string(), 30ms, text), verdict::broken);
    EXPECT_NE(text.find("lslocks"), std::string::npos);
    other.unlock();
    EXPECT_EQ(store_detail::examine_lock(folder.database().string(), 30ms, text), verdict::holds);
}

TEST_F(SqliteExamine, WhatIsThrownIsAFinding) {
    store_detail::examination found;
    found.look("one", [](std::string&) -> verdict {
        throw error(errc::not_writable, "there", "move");
    });
    found.look("two", [](std::string& text) {
        text = "Good.";
        return verdict::holds;
    });
    const auto all = found.take();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].judgement, verdict::broken);
    EXPECT_TRUE(all[0].found.ends_with("there; move.")) << all[0].found;
    EXPECT_EQ(all[1].found, "Good.");
}

}  // namespace
}  // namespace mortise::test::examine_test
