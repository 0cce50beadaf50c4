// SPDX-License-Identifier: BSL-1.0
// One database under several names: links, mounts, copies of the side folder.
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace mortise::test::sqlite_names_test {
namespace {

namespace fs = std::filesystem;

class SqliteNames : public testing::Test {
protected:
    sqlite_store_config config_of(const fs::path& path) const {
        sqlite_store_config config;
        config.path = path;
        return config;
    }

    fs::path in_folder(const std::string& name) const { return folder.path() / name; }

    /// The holder of "door" has opened the store by its own name.
    void hold() {
        ASSERT_EQ(holder.open(), error_code()) << holder.state.explain();
        ASSERT_EQ(holder.ask("door").type, answer::kind::granted);
    }

    /// Expects that a user who opens the store by `path` sees the holder.
    void expect_same_store(const fs::path& path) {
        state_user other(config_of(path), time);
        ASSERT_EQ(other.open(), error_code()) << path << ": " << other.state.explain();
        EXPECT_EQ(other.ask("door").type, answer::kind::queued) << path;
    }

    void expect_refused(const fs::path& path) {
        state_user other(config_of(path), time);
        EXPECT_EQ(other.open(), errc::several_names) << path;
        const auto text = other.state.explain();
        EXPECT_NE(text.find(path.filename()), std::string::npos) << text;
        EXPECT_NE(text.find("remove the hard links"), std::string::npos) << text;
        EXPECT_FALSE(fs::exists(path.string() + "-wal")) << "SQLite was let at it";
    }

    store_folder folder;
    still_clock time;
    state_user holder{folder.config(), time};
};

TEST_F(SqliteNames, ASymbolicLinkLeadsToTheSameStore) {
    hold();
    fs::create_symlink(folder.database(), in_folder("absolute.db"));
    fs::create_symlink("locks.db", in_folder("relative.db"));
    fs::create_symlink("relative.db", in_folder("twice.db"));
    fs::create_directory(in_folder("below"));
    fs::create_symlink("../twice.db", in_folder("below/link.db"));
    fs::create_directory_symlink(folder.path(), in_folder("loop"));
    for (const char* name : {"absolute.db", "relative.db", "twice.db", "below/link.db"}) {
        expect_same_store(in_folder(name));
        EXPECT_FALSE(fs::exists(in_folder(name).string() + ".mortise"));
    }
    expect_same_store(in_folder("loop/loop/locks.db"));
}

TEST_F(SqliteNames, ALinkToADatabaseThatIsNotThereYetMakesItAtItsOwnName) {
    fs::create_symlink("locks.db", in_folder("link.db"));
    state_user first(config_of(in_folder("link.db")), time);
    ASSERT_EQ(first.open(), error_code()) << first.state.explain();
    ASSERT_EQ(first.ask("door").type, answer::kind::granted);
    EXPECT_TRUE(fs::exists(folder.side()));
    expect_same_store(folder.database());
}

TEST_F(SqliteNames, LinksInACircleAreRefused) {
    fs::create_symlink("b.db", in_folder("a.db"));
    fs::create_symlink("a.db", in_folder("b.db"));
    state_user other(config_of(in_folder("a.db")), time);
    EXPECT_EQ(other.open(), errc::not_writable);
    EXPECT_NE(other.state.explain().find("symbolic links"), std::string::npos)
        << other.state.explain();
}

TEST_F(SqliteNames, AHardLinkIsRefusedAndTheFirstNameGoesOn) {
    hold();
    fs::create_hard_link(folder.database(), in_folder("other.db"));
    expect_refused(in_folder("other.db"));
    EXPECT_FALSE(fs::exists(in_folder("other.db.mortise"))) << "nothing is left";
    expect_same_store(folder.database());
    fs::remove(in_folder("other.db"));
    expect_same_store(folder.database());
}

TEST_F(SqliteNames, AHardLinkBesideACopyOfTheSideFolderIsRefused) {
    hold();
    fs::create_hard_link(folder.database(), in_folder("other.db"));
    fs::create_directory(in_folder("other.db.mortise"));
    fs::copy_file(folder.side() / "sessions", in_folder("other.db.mortise/sessions"));
    expect_refused(in_folder("other.db"));
    expect_same_store(folder.database());
}

TEST_F(SqliteNames, OfTwoHardLinksWithoutASideFolderNeitherIsTheFirst) {
    {
        state_user user(folder.config(), time);
        ASSERT_EQ(user.open(), error_code());
    }
    fs::remove_all(folder.side());
    for (const char* end : {"-wal", "-shm"})
        fs::remove(folder.database().string() + end);
    fs::create_hard_link(folder.database(), in_folder("other.db"));
    expect_refused(folder.database());
    expect_refused(in_folder("other.db"));
}

TEST_F(SqliteNames, TheExaminationTellsOfOtherNames) {
    using verdict = store_finding::verdict;
    const auto finding = [&](const fs::path& path) {
        state_user user(config_of(path), time);
        return user.state.examine().value.front();
    };
    hold();
    fs::create_symlink("locks.db", in_folder("link.db"));
    EXPECT_EQ(finding(in_folder("link.db")).subject, "name");
    EXPECT_EQ(finding(in_folder("link.db")).judgement, verdict::holds);
    EXPECT_NE(finding(in_folder("link.db")).found.find("locks.db"), std::string::npos);
    fs::create_hard_link(folder.database(), in_folder("other.db"));
    EXPECT_EQ(finding(folder.database()).judgement, verdict::weak);
    EXPECT_EQ(finding(in_folder("other.db")).judgement, verdict::weak);
    fs::create_symlink("circle.db", in_folder("circle.db"));
    EXPECT_EQ(finding(in_folder("circle.db")).judgement, verdict::broken);
}

TEST_F(SqliteNames, AFolderThatWasRenamedKeepsItsStore) {
    std::uint64_t token = 0;
    fs::create_directory(in_folder("before"));
    {
        state_user user(config_of(in_folder("before/locks.db")), time);
        ASSERT_EQ(user.open(), error_code()) << user.state.explain();
        token = user.ask("door").token.value;
    }
    fs::rename(in_folder("before"), in_folder("after"));
    state_user user(config_of(in_folder("after/locks.db")), time);
    ASSERT_EQ(user.open(), error_code()) << user.state.explain();
    time.pass(state_user::ttl);
    const auto again = user.ask("door");
    EXPECT_EQ(again.type, answer::kind::granted);
    EXPECT_GT(again.token.value, token);
}

/// Does `body` in a child whose mounts are its own. @return whether that was permitted and good.
bool among_own_mounts(const std::function<bool()>& body) {
    return in_dying_child([&] {
        return ::unshare(CLONE_NEWNS) == 0 &&
               ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 && body();
    });
}

bool may_mount() {
    return among_own_mounts([] { return true; });
}

bool bind(const fs::path& from, const fs::path& to) {
    return ::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

TEST_F(SqliteNames, AMountOfTheFolderLeadsToTheSameStore) {
    if (!may_mount())
        GTEST_SKIP() << "this user may not mount";
    hold();
    fs::create_directory(in_folder("mounted"));
    EXPECT_TRUE(among_own_mounts([&] {
        state_user other(config_of(in_folder("mounted/locks.db")), time);
        return bind(folder.path(), in_folder("mounted")) && other.open() == error_code() &&
               other.ask("door").type == answer::kind::queued;
    }));
}

TEST_F(SqliteNames, AMountOfTheDatabaseAloneIsRefused) {
    if (!may_mount())
        GTEST_SKIP() << "this user may not mount";
    hold();
    std::ofstream(in_folder("mounted.db")).close();
    EXPECT_TRUE(among_own_mounts([&] {
        state_user other(config_of(in_folder("mounted.db")), time);
        return bind(folder.database(), in_folder("mounted.db")) &&
               other.open() == errc::several_names &&
               other.state.explain().find("mount the folder") != std::string::npos;
    }));
}

}  // namespace
}  // namespace mortise::test::sqlite_names_test
