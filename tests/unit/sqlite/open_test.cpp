// SPDX-License-Identifier: BSL-1.0
// What is refused when a store is opened, with the value and the remedy in the explanation.
#include "mortise/store/sqlite.hpp"
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::open_test {
namespace {

struct refusal {
    refusal() = default;

    error_code code;
    std::string text;
};

refusal open_with(const sqlite_store_config& config) {
    const still_clock time;
    state_user user(config, time);
    refusal seen;
    seen.code = user.open();
    seen.text = user.state.explain();
    return seen;
}

void expect_refused(
    const sqlite_store_config& config,
    errc code,
    const std::string& value,
    const std::string& remedy
) {
    const refusal seen = open_with(config);
    EXPECT_EQ(seen.code, code) << seen.text;
    EXPECT_NE(seen.text.find(value), std::string::npos) << seen.text;
    EXPECT_NE(seen.text.find(remedy), std::string::npos) << seen.text;
}

TEST(SqliteOpen, MakesAStoreThatOnlyItsUserCanRead) {
    const store_folder folder;
    EXPECT_EQ(open_with(folder.config()).code, error_code());
    struct stat found {};
    for (const char* file : {"locks.db", "locks.db-wal", "locks.db-shm", "locks.db.mortise/lock"}) {
        ASSERT_EQ(::stat((folder.path() / file).c_str(), &found), 0) << file;
        EXPECT_EQ(found.st_mode & 0777, 0600u) << file;
    }
    ASSERT_EQ(::stat(folder.side().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0700u);
    EXPECT_EQ(folder.sql("PRAGMA application_id"), store_detail::application_id);
}

TEST(SqliteOpen, RefusesAFileThatIsNoDatabaseAndLeavesNothing) {
    const store_folder folder;
    std::ofstream(folder.database()) << std::string(8'192, '#');
    expect_refused(
        folder.config(), errc::not_a_database, folder.database().string(), "name another file"
    );
    EXPECT_FALSE(std::filesystem::exists(folder.side()));
    EXPECT_EQ(std::filesystem::file_size(folder.database()), 8'192u);
}

TEST(SqliteOpen, RefusesTheDatabaseOfAnApplicationAndLeavesItAsItIs) {
    const store_folder folder;
    folder.sql("CREATE TABLE orders(id INTEGER)");
    expect_refused(folder.config(), errc::not_a_store, folder.database().string(), "of its own");
    EXPECT_FALSE(std::filesystem::exists(folder.side()));
    EXPECT_EQ(folder.sql("SELECT count(*) FROM sqlite_schema"), 1);
    EXPECT_FALSE(std::filesystem::exists(folder.database().string() + "-wal"))
        << "its journal mode was changed";
}

TEST(SqliteOpen, RefusesADatabaseThatOnlyLooksLikeAStore) {
    const store_folder folder;
    folder.sql("CREATE TABLE meta(format_major INTEGER)");
    EXPECT_EQ(open_with(folder.config()).code, errc::not_a_store);
    const store_folder marked;
    marked.sql("PRAGMA application_id = 4711");
    EXPECT_EQ(open_with(marked.config()).code, errc::not_a_store);
}

TEST(SqliteOpen, RefusesANewerFormatWhateverItsColumns) {
    const store_folder folder;
    ASSERT_EQ(open_with(folder.config()).code, error_code());
    folder.sql("UPDATE meta SET format_major = 2");
    folder.sql("ALTER TABLE meta RENAME COLUMN domain TO space");
    expect_refused(folder.config(), errc::newer_format, "has format 2", "use a newer mortise");
}

TEST(SqliteOpen, RefusesAMetaRecordThatMakesNoSense) {
    const store_folder folder;
    ASSERT_EQ(open_with(folder.config()).code, error_code());
    folder.sql("UPDATE meta SET domain = 'two words'");
    EXPECT_EQ(open_with(folder.config()).code, errc::store_corrupt);
    folder.sql("DELETE FROM meta");
    EXPECT_EQ(open_with(folder.config()).code, errc::store_corrupt);
}

TEST(SqliteOpen, AnExistingStoreKeepsItsDomain) {
    const store_folder folder;
    auto config = folder.config();
    config.domain = "orders";
    const still_clock time;
    state_user user(config, time);
    ASSERT_EQ(user.open(), error_code());
    EXPECT_EQ(user.opened.reply.domain.name(), "orders");
    EXPECT_EQ(open_with(folder.config()).code, error_code()) << "any domain will do";
    config.domain = "stock";
    expect_refused(config, errc::bad_config, "domain = \"stock\"", "leave the domain empty");
}

TEST(SqliteOpen, RefusesNetworkFileSystemsUnlessAllowed) {
    const store_folder folder;
    for (const std::int64_t magic : {0x6969ll, 0xff534d42ll, 0x01021997ll, 0x65735546ll}) {
        auto config = folder.config();
        config.file_system_type_override = magic;
        expect_refused(
            config, errc::network_file_system, folder.database().string(), "on a local disk"
        );
        EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is made there";
    }
    auto config = folder.config();
    config.file_system_type_override = 0x6969;
    config.allow_network_file_system = true;
    EXPECT_EQ(open_with(config).code, error_code());
}

TEST(SqliteOpen, MakesTheLastFolderOfItsPath) {
    const store_folder folder;
    auto config = folder.config();
    config.path = folder.path() / "new" / "locks.db";
    EXPECT_EQ(open_with(config).code, error_code());
    struct stat status {};
    ASSERT_EQ(::stat(config.path.parent_path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    EXPECT_EQ(open_with(config).code, error_code()) << "once more";
}

TEST(SqliteOpen, RefusesAFolderWhoseParentIsNotThere) {
    const store_folder folder;
    auto config = folder.config();
    config.path = folder.path() / "none" / "new" / "locks.db";
    const auto missing = (folder.path() / "none").string();
    expect_refused(config, errc::not_writable, missing, "only the last folder");
    EXPECT_FALSE(std::filesystem::exists(missing));
}

// Permission bits do not bind the superuser, so the check runs as somebody else.
TEST(SqliteOpen, RefusesAFolderThatCannotBeWritten) {
    const store_folder folder;
    ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
    EXPECT_TRUE(in_dying_child([&] {
        if (::geteuid() == 0 && ::setresuid(65'534, 65'534, 65'534) != 0)
            return false;
        const refusal seen = open_with(folder.config());
        return seen.code == errc::not_writable &&
               seen.text.find("this user may write") != std::string::npos;
    }));
}

TEST(SqliteOpen, RefusesADatabaseThatCannotBeWritten) {
    const store_folder folder;
    ASSERT_EQ(open_with(folder.config()).code, error_code());
    ASSERT_EQ(::chmod(folder.database().c_str(), 0444), 0);
    ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
    for (const auto& each : std::filesystem::directory_iterator(folder.side()))
        ASSERT_EQ(::chmod(each.path().c_str(), 0666), 0);
    ASSERT_EQ(::chmod(folder.side().c_str(), 0777), 0);
    EXPECT_TRUE(in_dying_child([&] {
        if (::geteuid() == 0 && ::setresuid(65'534, 65'534, 65'534) != 0)
            return false;
        return open_with(folder.config()).code == errc::not_writable;
    }));
}

// `sudo mortise doctor` must not leave files that the user of the store cannot open.
TEST(SqliteOpen, RefusesToMakeFilesOfAnotherUserAsRoot) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root may do what is refused here";
    constexpr unsigned user = 65'534;
    const store_folder folder;
    ASSERT_EQ(::chown(folder.path().c_str(), user, user), 0);
    const auto opens_as_user = [&] {
        return in_dying_child([&] {
            return ::setresuid(user, user, user) == 0 &&
                   open_with(folder.config()).code == error_code();
        });
    };
    const auto remedy = "sudo -u '#65534'";
    expect_refused(folder.config(), errc::not_writable, folder.path().string(), remedy);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    EXPECT_TRUE(opens_as_user());

    auto deeper = folder.config();
    deeper.path = folder.path() / "new" / "locks.db";
    expect_refused(deeper, errc::not_writable, folder.path().string(), remedy);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "new"));

    std::filesystem::remove_all(folder.side());
    expect_refused(folder.config(), errc::not_writable, folder.database().string(), remedy);
    EXPECT_FALSE(std::filesystem::exists(folder.side()));
    EXPECT_TRUE(opens_as_user());

    // Another boot, in which root comes first.
    auto rebooted = folder.config();
    rebooted.boot_id_override = "another boot";
    expect_refused(rebooted, errc::not_writable, folder.side().string(), remedy);
    EXPECT_TRUE(opens_as_user());
    EXPECT_EQ(open_with(folder.config()).code, error_code()) << "root may use what is there";
    EXPECT_TRUE(opens_as_user());
}

TEST(SqliteOpen, ConfigurationsThatCannotWorkAreRefusedAtOnce) {
    const auto code_of = [](const std::function<void(sqlite_store_config&)>& spoil) {
        sqlite_store_config config;
        config.path = "locks.db";
        spoil(config);
        try {
            make_sqlite_store(config);
        } catch (const error& e) {
            EXPECT_FALSE(e.value().empty());
            EXPECT_FALSE(e.remedy().empty());
            return e.code();
        }
        return error_code();
    };
    EXPECT_EQ(code_of([](auto&) {}), error_code());
    EXPECT_EQ(code_of([](auto& c) { c.path.clear(); }), errc::bad_config);
    EXPECT_EQ(code_of([](auto& c) { c.domain = "two words"; }), errc::bad_config);
    EXPECT_EQ(code_of([](auto& c) { c.domain = std::string(25, 'd'); }), error_code());
    EXPECT_EQ(code_of([](auto& c) { c.domain = std::string(26, 'd'); }), errc::bad_config);
    EXPECT_EQ(code_of([](auto& c) { c.domain = "shop#1"; }), errc::bad_config);
    EXPECT_EQ(code_of([](auto& c) { c.checkpoint_bytes = 1'000; }), errc::bad_config);
    using std::chrono::microseconds;
    EXPECT_EQ(code_of([](auto& c) { c.busy_poll_max = microseconds(0); }), error_code());
    EXPECT_EQ(code_of([](auto& c) { c.busy_poll_max = microseconds(1'000); }), error_code());
    EXPECT_EQ(code_of([](auto& c) { c.busy_poll_max = microseconds(1'001); }), errc::bad_config);
    EXPECT_EQ(code_of([](auto& c) { c.busy_poll_max = microseconds(-1); }), errc::bad_config);
}

TEST(SqliteOpen, ListingWhereNothingIsMakesNothing) {
    const store_folder folder;
    const still_clock time;
    state_user user(folder.config(), time);
    const auto seen = user.state.list("", 10, 10);
    EXPECT_EQ(seen.code, error_code());
    EXPECT_TRUE(seen.value.empty());
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace mortise::test::open_test
