// SPDX-License-Identifier: BSL-1.0
// Statements that are kept, their parameters and columns, and the limits of reading closures.
#include "unit/db/db_world.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <string>

namespace mortise::test::db_connection_test {
namespace {

using db::connection;
using db::durability;

class DbConnection : public testing::Test {
protected:
    DbConnection() { EXPECT_EQ(::sqlite3_open(":memory:", &handle), SQLITE_OK); }
    ~DbConnection() override { EXPECT_EQ(::sqlite3_close(handle), SQLITE_OK); }

    static int prepared(sqlite3* db) {
        int count = 0;
        for (auto* each = ::sqlite3_next_stmt(db, nullptr); each != nullptr;
             each = ::sqlite3_next_stmt(db, each))
            ++count;
        return count;
    }

    template <class Call>
    static error_code code_of(Call call) {
        try {
            call();
        } catch (const error& e) {
            return e.code();
        }
        return {};
    }

    sqlite3* handle = nullptr;
};

TEST_F(DbConnection, BindsAndGivesEveryKindOfValue) {
    connection on(handle);
    using namespace std::string_view_literals;
    auto row = on.query("SELECT ?, ?, ?, ?, ?", std::int64_t{1} << 62, 0.5, "a\0b"sv, nullptr, "");
    ASSERT_TRUE(row.step());
    EXPECT_EQ(row.columns(), 5);
    EXPECT_EQ(row.integer(0), std::int64_t{1} << 62);
    EXPECT_EQ(row.real(1), 0.5);
    EXPECT_EQ(row.text(2), "a\0b"sv);
    EXPECT_TRUE(row.is_null(3));
    EXPECT_EQ(row.text(3), "");
    EXPECT_EQ(row.text_or_null(3), std::nullopt);
    EXPECT_EQ(row.text_or_null(4), "");
    EXPECT_EQ(row.text_or_null(2), "a\0b"sv);
    EXPECT_FALSE(row.is_null(4));
    EXPECT_EQ(row.text(4), "");
    EXPECT_FALSE(row.step());
    auto bytes = on.query("SELECT typeof(?1), ?1");
    bytes.bind_bytes("\xff\0\x01"sv);
    ASSERT_TRUE(bytes.step());
    EXPECT_EQ(bytes.text(0), "blob");
    EXPECT_EQ(bytes.text(1), "\xff\0\x01"sv);
    auto empty = on.query("SELECT x''");
    ASSERT_TRUE(empty.step());
    EXPECT_EQ(empty.text_or_null(0), "") << "an empty blob has no address, and is no NULL";
}

TEST_F(DbConnection, RunsAStatementThatIsTextAndValues) {
    connection on(handle);
    on.run(db::bound_sql("CREATE TABLE t(x INTEGER, y)"));
    const auto added = on.run(db::bound_sql("INSERT INTO t VALUES(?, ?), (2, NULL)", 1, "it's"));
    EXPECT_TRUE(added.empty());
    EXPECT_EQ(added.affected, 2);
    const auto found = on.run(db::bound_sql("SELECT x, y FROM t ORDER BY x"));
    EXPECT_EQ(found.affected, 2);
    EXPECT_EQ(found.first().text("y"), "it's");
    EXPECT_TRUE(found.rows.at(1).is_null("y"));
    EXPECT_EQ(on.run(db::bound_sql("DELETE FROM t WHERE x > ? RETURNING x", 1)).affected, 1);
    EXPECT_EQ(on.run(db::bound_sql("UPDATE t SET x = 3 WHERE x = 9")).affected, 0);
}

TEST_F(DbConnection, PreparesAStatementOnce) {
    connection on(handle);
    on.run("CREATE TABLE t(x INTEGER)");
    const int before = prepared(handle);
    for (int i = 0; i < 10; ++i)
        on.run("INSERT INTO t VALUES(?)", i);
    EXPECT_EQ(prepared(handle), before + 1);
    EXPECT_EQ(on.changes(), 1);
    EXPECT_EQ(on.last_insert_id(), 10);
}

TEST_F(DbConnection, AStatementInUseIsLeftAlone) {
    connection on(handle);
    constexpr auto sql = "SELECT value FROM json_each('[1, 2]') WHERE value >= ?";
    auto outer = on.query(sql, 1);
    int pairs = 0;
    while (outer.step()) {
        auto inner = on.query(sql, 2);
        while (inner.step())
            ++pairs;
    }
    EXPECT_EQ(pairs, 2);
}

TEST_F(DbConnection, KeepsNoMoreThanItMay) {
    connection on(handle, 3);
    for (int i = 0; i < 20; ++i)
        on.run("SELECT " + std::to_string(i));
    EXPECT_EQ(prepared(handle), 3);
    connection none(handle, 0);
    none.run("SELECT 'x'");
    EXPECT_EQ(prepared(handle), 3);
}

TEST_F(DbConnection, ThrowsTheCodeAndTheTextOfSqlite) {
    connection on(handle);
    on.run("CREATE TABLE t(x INTEGER UNIQUE)");
    on.run("INSERT INTO t VALUES(1)");
    try {
        on.run("INSERT INTO t VALUES(1)");
        ADD_FAILURE() << "no exception";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), db::sqlite_error(SQLITE_CONSTRAINT_UNIQUE));
        EXPECT_NE(std::string(e.what()).find("t.x"), std::string::npos) << e.what();
    }
    EXPECT_EQ(code_of([&] { on.run("SELECT nothing"); }), db::sqlite_error(SQLITE_ERROR));
    EXPECT_EQ(code_of([&] { on.run("SELECT 1", 1); }), db::sqlite_error(SQLITE_RANGE));
    EXPECT_EQ(code_of([&] { on.run("SELECT 1; SELECT 2"); }), db::sqlite_error(SQLITE_MISUSE));
    EXPECT_EQ(code_of([&] { on.run(""); }), db::sqlite_error(SQLITE_MISUSE));
    EXPECT_EQ(code_of([&] { on.run("SELECT 1 ;\n "); }), error_code());
}

TEST_F(DbConnection, CodesOfSqliteKnowWhatMaySucceedLater) {
    EXPECT_TRUE(db::sqlite_error(SQLITE_BUSY_SNAPSHOT) == condition::retryable);
    EXPECT_TRUE(db::sqlite_error(SQLITE_FULL) == condition::retryable);
    EXPECT_FALSE(db::sqlite_error(SQLITE_CONSTRAINT) == condition::retryable);
    EXPECT_FALSE(db::sqlite_error(SQLITE_BUSY) == condition::not_held);
    EXPECT_FALSE(db::sqlite_error(SQLITE_OK));
    EXPECT_STREQ(db::sqlite_category().name(), "sqlite");
    EXPECT_NE(db::sqlite_error(SQLITE_BUSY).message(), db::sqlite_error(SQLITE_FULL).message());
}

TEST(DbRead, SeesWhatWasCommittedBeforeItWasCalled) {
    db_world world;
    db::sqlite session = world.open();
    world.run([](db::sqlite& on) -> asio::awaitable<void> {
        for (int i = 1; i <= 50; ++i) {
            const auto how = i % 2 == 0 ? durability::lazy : durability::force;
            co_await on.async_run(add_cents(1, 1), how);
            const auto seen = co_await on.async_read([](connection& reading) {
                auto found = reading.query("SELECT cents FROM account WHERE id = 1");
                return found.step() ? found.integer(0) : -1;
            });
            EXPECT_EQ(seen, 100 + i);
        }
    }(session));
    EXPECT_EQ(session.stats().reads, 50u);
}

TEST(DbRead, IsOneSnapshot) {
    db_world world;
    db::sqlite session = world.open();
    const auto look = [](connection& on) {
        auto found = on.query("SELECT sum(cents) FROM account");
        return found.step() ? found.integer(0) : -1;
    };
    auto twice = [&](connection& on) {
        const auto before = look(on);
        world.sql("UPDATE account SET cents = cents + 1");
        return look(on) - before;
    };
    const auto difference =
        world.run([](db::sqlite& on, auto work) -> asio::awaitable<std::int64_t> {
            co_return co_await on.async_read(work);
        }(session, twice));
    EXPECT_EQ(difference, 0);
    EXPECT_EQ(world.sql("SELECT sum(cents) FROM account"), 303);
}

TEST(DbRead, CanOnlyRead) {
    db_world world;
    db::sqlite session = world.open();
    std::vector<error_code> codes(3);
    session.async_read(add_cents(1, 1), [&](error_code ec) { codes[0] = ec; });
    session.async_read(
        [](connection& on) { ::sqlite3_exec(on.handle(), "COMMIT", nullptr, nullptr, nullptr); },
        [&](error_code ec) { codes[1] = ec; }
    );
    session.async_read(
        [](connection& on) -> result<int> {
            on.run("SELECT 1");
            return error_code(asio::error::no_data);
        },
        [&](error_code ec, int) { codes[2] = ec; }
    );
    world.context.run();
    EXPECT_EQ(codes[0], db::sqlite_error(SQLITE_READONLY));
    EXPECT_EQ(codes[1], errc::transaction_control);
    EXPECT_EQ(codes[2], asio::error::no_data);
    EXPECT_EQ(world.cents(1), 100);
}

}  // namespace
}  // namespace mortise::test::db_connection_test
