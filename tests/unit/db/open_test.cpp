// SPDX-License-Identifier: BSL-1.0
// What a session is opened with, and what it refuses.
#include "unit/db/db_world.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <barrier>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

namespace mortise::test::db_open_test {
namespace {

using db::connection;

using namespace std::chrono_literals;

// Another program in the middle of a transaction on a database with a rollback journal.
class raw_transaction {
public:
    raw_transaction(const std::filesystem::path& path, const char* sql) {
        EXPECT_EQ(::sqlite3_open(path.c_str(), &db_), SQLITE_OK);
        run("CREATE TABLE IF NOT EXISTS t(n)");
        run(sql);
    }
    ~raw_transaction() { ::sqlite3_close(db_); }
    raw_transaction(const raw_transaction&) = delete;
    raw_transaction& operator=(const raw_transaction&) = delete;

    void end() { run("COMMIT"); }

private:
    void run(const char* sql) {
        EXPECT_EQ(::sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    }

    sqlite3* db_ = nullptr;
};

class DbOpen : public testing::Test {
protected:
    error_code refusal(const db::sqlite_config& config) {
        try {
            world.open(config);
        } catch (const error& e) {
            message = e.what();
            return e.code();
        }
        return {};
    }

    db_world world;
    std::string message;
};

TEST_F(DbOpen, SetsThePragmasThatItsPromisesRestOn) {
    db::sqlite session = world.open();
    const auto number = [&](const char* pragma) {
        std::int64_t found = -1;
        session.async_run(
            [pragma](connection& on) {
                auto row = on.query(pragma);
                return row.step() ? row.integer(0) : -1;
            },
            db::durability::force,
            [&](error_code ec, std::int64_t value) { found = ec ? -1 : value; }
        );
        world.context.restart();
        world.context.run();
        return found;
    };
    EXPECT_EQ(number("PRAGMA synchronous"), 2);
    EXPECT_EQ(number("PRAGMA foreign_keys"), 1);
    EXPECT_EQ(number("PRAGMA journal_size_limit"), 8 << 20);
}

TEST_F(DbOpen, KeepsAsManyPagesToReadAsItIsTold) {
    auto config = world.config();
    config.read_cache_bytes = 16u << 20;
    db::sqlite session = world.open(config);
    const auto look = [&]() -> asio::awaitable<std::int64_t> {
        const auto work = [](connection& on) {
            auto row = on.query("PRAGMA cache_size");
            return row.step() ? row.integer(0) : 0;
        };
        auto reading = session.async_read(work);
        co_return co_await std::move(reading);
    };
    EXPECT_EQ(world.run(look()), -16'384) << "in KiB";
}

TEST_F(DbOpen, MakesADatabaseWithALog) {
    auto config = world.config();
    config.path.replace_filename("new.db");
    db::sqlite session = world.open(config);
    EXPECT_TRUE(std::filesystem::exists(config.path));
    EXPECT_TRUE(std::filesystem::exists(config.path.string() + ".checkpoint"));
    EXPECT_EQ(session.path(), config.path);
}

// To change to a write-ahead log a connection wants to write while it reads already: if another one
// is as far, SQLite refuses that at once, without a question to the busy handler.
TEST_F(DbOpen, MakesADatabaseThatOthersMakeAtTheSameTime) {
    constexpr int files = 20;
    constexpr int openers = 4;
    std::barrier together(openers);
    std::vector<std::future<std::string>> failures;
    for (int opener = 0; opener < openers; ++opener) {
        failures.push_back(std::async(std::launch::async, [&] {
            std::string wrong;
            for (int file = 0; file < files; ++file) {
                auto config = world.config();
                config.path.replace_filename("new" + std::to_string(file) + ".db");
                together.arrive_and_wait();
                try {
                    asio::io_context context;
                    const db::sqlite session(context.get_executor(), config);
                } catch (const error& e) {
                    wrong += e.what() + std::string("; ");
                }
            }
            return wrong;
        }));
    }
    for (auto& each : failures)
        EXPECT_EQ(each.get(), "");
}

TEST_F(DbOpen, WaitsForThoseWhoUseAFileWithoutALog) {
    const char* const uses[] = {"BEGIN; SELECT count(*) FROM t", "BEGIN IMMEDIATE"};
    for (const char* use : uses) {
        SCOPED_TRACE(use);
        auto config = world.config();
        config.path.replace_filename(use == uses[0] ? "read.db" : "written.db");
        raw_transaction other(config.path, use);
        config.busy_max = 20ms;
        EXPECT_EQ(refusal(config), errc::database_busy);
        EXPECT_NE(message.find("locked"), std::string::npos) << message;
        config.busy_max = 60s;
        auto opened = std::async(std::launch::async, [&] { return refusal(config); });
        EXPECT_EQ(opened.wait_for(50ms), std::future_status::timeout);
        other.end();
        EXPECT_EQ(opened.get(), error_code());
    }
}

TEST_F(DbOpen, RefusesASettingThatDidNotTake) {
    auto config = world.config();
    config.path.replace_filename("new.db");
    config.vfs = "unix-dotfile";  // without shared memory, and so without a write-ahead log
    EXPECT_EQ(refusal(config), errc::unsupported);
    EXPECT_NE(message.find("journal_mode"), std::string::npos) << message;
    EXPECT_NE(message.find("delete"), std::string::npos) << message;
}

TEST_F(DbOpen, RefusesWhatIsNoDatabaseOrCannotBeReached) {
    auto config = world.config();
    config.path.replace_filename("text");
    std::ofstream(config.path) << std::string(5'000, 'x');
    EXPECT_EQ(refusal(config), errc::not_a_database);
    config.path = config.path.parent_path() / "none" / "x.db";
    EXPECT_TRUE(refusal(config)) << "its folder is not there";
    EXPECT_NE(message.find("none"), std::string::npos) << message;
    config = world.config();
    config.vfs = "no such layer";
    EXPECT_TRUE(refusal(config));
}

TEST_F(DbOpen, RefusesNetworkFileSystemsUnlessAllowed) {
    auto config = world.config();
    config.file_system_type_override = 0x6969;  // NFS
    EXPECT_EQ(refusal(config), errc::network_file_system);
    EXPECT_NE(message.find("NFS"), std::string::npos) << message;
    config.allow_network_file_system = true;
    EXPECT_EQ(refusal(config), error_code());
}

TEST_F(DbOpen, RefusesSettingsThatCannotWork) {
    auto config = world.config();
    config.path = ":memory:";
    EXPECT_EQ(refusal(config), errc::bad_config);
    config.path.clear();
    EXPECT_EQ(refusal(config), errc::bad_config);
    config = world.config();
    config.queue_max = 0;
    EXPECT_EQ(refusal(config), errc::bad_config);
    config = world.config();
    config.batch_max = 0;
    EXPECT_EQ(refusal(config), errc::bad_config);
    config.batch_max = SIZE_MAX;
    EXPECT_EQ(refusal(config), errc::bad_config);
    config = world.config();
    config.checkpoint_bytes = 1;
    EXPECT_EQ(refusal(config), errc::bad_config);
    config.checkpoint_bytes = SIZE_MAX;
    EXPECT_EQ(refusal(config), errc::bad_config);
    config = world.config();
    config.read_cache_bytes = 0;
    EXPECT_EQ(refusal(config), errc::bad_config);
    config = world.config();
    config.busy_max = std::chrono::hours(2);
    EXPECT_EQ(refusal(config), errc::bad_config);
}

}  // namespace
}  // namespace mortise::test::db_open_test
