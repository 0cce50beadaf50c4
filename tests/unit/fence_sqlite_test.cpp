// SPDX-License-Identifier: BSL-1.0
// The fence in the user's database: tokens that pass, and the update that is lost without a raise.
#include "mortise/fence/sqlite.hpp"
#include "mortise/token_domain.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <filesystem>
#include <string>

namespace mortise::test::fence_sqlite_test {
namespace {

fencing_token token(std::uint64_t value, std::string_view domain = "locks") {
    return {value, *token_domain::parse(domain)};
}

class SqliteFence : public testing::Test {
public:
    ~SqliteFence() override { ::sqlite3_close(db); }

protected:
    SqliteFence() {
        EXPECT_EQ(::sqlite3_open(":memory:", &db), SQLITE_OK);
        run("CREATE TABLE stock(left INTEGER)");
        run("INSERT INTO stock VALUES(10)");
    }

    void run(const std::string& sql) {
        ASSERT_EQ(::sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
            << ::sqlite3_errmsg(db);
    }

    std::int64_t number(const std::string& sql) {
        sqlite3_stmt* query = nullptr;
        EXPECT_EQ(::sqlite3_prepare_v2(db, sql.c_str(), -1, &query, nullptr), SQLITE_OK)
            << ::sqlite3_errmsg(db);
        EXPECT_EQ(::sqlite3_step(query), SQLITE_ROW);
        const std::int64_t value = ::sqlite3_column_int64(query, 0);
        ::sqlite3_finalize(query);
        return value;
    }

    std::int64_t fence() {
        return number("SELECT coalesce(max(token), 0) FROM mortise_fence WHERE resource = x'73'");
    }

    // In one transaction, as users write it.
    error_code write(const fencing_token& held, std::int64_t left) {
        run("BEGIN IMMEDIATE");
        const error_code refused = sqlite_fence::admit(db, "s", held);
        if (!refused)
            run("UPDATE stock SET left = " + std::to_string(left));
        run(refused ? "ROLLBACK" : "COMMIT");
        return refused;
    }

    sqlite3* db = nullptr;
};

// Two writers read 10 and each sells one. The first was paused between its read and its write.
TEST_F(SqliteFence, WithoutARaiseALateWriteBetweenReadAndWriteIsLost) {
    const auto late_read = number("SELECT left FROM stock");
    const auto next_read = number("SELECT left FROM stock");  // the lock has passed on: token 2
    EXPECT_EQ(write(token(1), late_read - 1), error_code()) << "nobody raised the fence";
    EXPECT_EQ(write(token(2), next_read - 1), error_code());
    EXPECT_EQ(number("SELECT left FROM stock"), 9) << "two were sold, one was counted";
}

TEST_F(SqliteFence, WithARaiseBeforeTheReadTheLateWriteIsRefused) {
    ASSERT_EQ(sqlite_fence::raise(db, "s", token(1)), error_code());
    const auto late_read = number("SELECT left FROM stock");
    ASSERT_EQ(sqlite_fence::raise(db, "s", token(2)), error_code());
    const auto next_read = number("SELECT left FROM stock");
    EXPECT_EQ(write(token(1), late_read - 1), errc::stale_token);
    EXPECT_EQ(write(token(2), next_read - 1), error_code());
    EXPECT_EQ(number("SELECT left FROM stock"), 9) << "one was sold, one was counted";
}

TEST_F(SqliteFence, LetsTheSameTokenInAgainAndAgain) {
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(5)), error_code());
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(5)), error_code());
    EXPECT_EQ(write(token(5), 1), error_code());
    EXPECT_EQ(write(token(5), 2), error_code());
    EXPECT_EQ(fence(), 5);
}

TEST_F(SqliteFence, RefusesWhatIsBelowAndStaysWhereItIs) {
    ASSERT_EQ(sqlite_fence::raise(db, "s", token(5)), error_code());
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(4)), errc::stale_token);
    EXPECT_EQ(write(token(4), 0), errc::stale_token);
    EXPECT_EQ(fence(), 5);
    EXPECT_EQ(number("SELECT left FROM stock"), 10);
}

TEST_F(SqliteFence, RefusesForeignDomainsWhetherTheyAreHigherOrLower) {
    ASSERT_EQ(sqlite_fence::raise(db, "s", token(5)), error_code());
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(6, "other")), errc::foreign_domain);
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(4, "other")), errc::foreign_domain);
    EXPECT_EQ(write(token(6, "Locks"), 0), errc::foreign_domain) << "names are case-sensitive";
    EXPECT_EQ(fence(), 5);
}

TEST_F(SqliteFence, RefusesAnEmptyToken) {
    EXPECT_EQ(sqlite_fence::raise(db, "s", fencing_token()), errc::no_token);
    EXPECT_EQ(sqlite_fence::admit(db, "s", fencing_token()), errc::no_token);
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(std::uint64_t{1} << 63)), errc::no_token);
    fencing_token homeless;
    homeless.value = 1;
    EXPECT_EQ(sqlite_fence::raise(db, "s", homeless), errc::no_token);
}

TEST_F(SqliteFence, AdmitsOnlyInTheTransactionThatWrites) {
    EXPECT_EQ(sqlite_fence::admit(db, "s", token(1)), errc::no_transaction);
    EXPECT_EQ(number("SELECT count(*) FROM sqlite_schema WHERE name = 'mortise_fence'"), 0);
}

TEST_F(SqliteFence, ARollbackRestoresTheFence) {
    ASSERT_EQ(sqlite_fence::raise(db, "s", token(5)), error_code());
    run("BEGIN");
    EXPECT_EQ(sqlite_fence::admit(db, "s", token(9)), error_code());
    EXPECT_EQ(fence(), 9);
    run("ROLLBACK");
    EXPECT_EQ(fence(), 5);
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(6)), error_code());
}

TEST_F(SqliteFence, RaiseJoinsTheTransactionThatIsOpen) {
    run("BEGIN");
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(5)), error_code());
    run("ROLLBACK");
    EXPECT_EQ(number("SELECT count(*) FROM sqlite_schema WHERE name = 'mortise_fence'"), 0)
        << "the table was made in the transaction, too";
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(1)), error_code());
}

TEST_F(SqliteFence, EachResourceHasAFenceOfItsOwn) {
    using namespace std::string_view_literals;
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(5)), error_code());
    EXPECT_EQ(sqlite_fence::raise(db, "S", token(1)), error_code());
    EXPECT_EQ(sqlite_fence::raise(db, "s\0"sv, token(2)), error_code());
    EXPECT_EQ(sqlite_fence::raise(db, "", token(3)), error_code());
    EXPECT_EQ(sqlite_fence::raise(db, "", token(2)), errc::stale_token);
}

TEST_F(SqliteFence, KeepsTheHighestTokens) {
    const auto highest = token((std::uint64_t{1} << 63) - 1);
    EXPECT_EQ(sqlite_fence::raise(db, "s", highest), error_code());
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(highest.value - 1)), errc::stale_token);
    EXPECT_EQ(sqlite_fence::raise(db, "s", highest), error_code());
}

TEST_F(SqliteFence, ForgetsTheLowestAndRefusesBelowThemAllTheSame) {
    for (std::uint64_t i = 1; i <= 10; ++i)
        ASSERT_EQ(
            sqlite_fence::raise(db, "name " + std::to_string(i), token(i * 10)), error_code()
        );
    const auto domain = token(1).domain;
    EXPECT_EQ(sqlite_fence::forget(db, domain, 10, 100).value(), 0u);
    EXPECT_EQ(sqlite_fence::forget(db, domain, 4, 5).value(), 5u);
    EXPECT_EQ(sqlite_fence::forget(db, domain, 4, 5).value(), 1u);
    EXPECT_EQ(sqlite_fence::forget(db, domain, 4, 5).value(), 0u);
    EXPECT_EQ(number("SELECT count(*) FROM mortise_fence"), 4);
    for (std::uint64_t i = 1; i <= 10; ++i) {
        const auto name = "name " + std::to_string(i);
        EXPECT_EQ(sqlite_fence::raise(db, name, token(i * 10 - 1)), errc::stale_token) << name;
    }
    EXPECT_EQ(sqlite_fence::raise(db, "name 1", token(59)), errc::stale_token)
        << "though its own fence was lower: that is not known any more";
    EXPECT_EQ(sqlite_fence::raise(db, "name 6", token(60)), error_code()) << "who holds it still";
    EXPECT_EQ(sqlite_fence::raise(db, "name 1", token(61)), error_code());
    EXPECT_EQ(sqlite_fence::raise(db, "new", token(59)), errc::stale_token);
    EXPECT_EQ(sqlite_fence::raise(db, "name 7", token(70)), error_code()) << "that was kept";
    run("BEGIN");
    EXPECT_EQ(sqlite_fence::admit(db, "name 2", token(20)), errc::stale_token);
    run("ROLLBACK");
}

TEST_F(SqliteFence, TheFloorNeverSinks) {
    const auto domain = token(1).domain;
    ASSERT_EQ(sqlite_fence::raise(db, "a", token(50)), error_code());
    EXPECT_EQ(sqlite_fence::forget(db, domain, 0, 1).value(), 1u);
    ASSERT_EQ(sqlite_fence::raise(db, "b", token(50)), error_code());
    ASSERT_EQ(sqlite_fence::raise(db, "c", token(70)), error_code());
    EXPECT_EQ(sqlite_fence::forget(db, domain, 1, 1).value(), 1u);
    EXPECT_EQ(number("SELECT token FROM mortise_fence_floor"), 50);
    EXPECT_EQ(sqlite_fence::forget(db, domain, 0, 9).value(), 1u);
    EXPECT_EQ(number("SELECT token FROM mortise_fence_floor"), 70);
    EXPECT_EQ(sqlite_fence::raise(db, "a", token(69)), errc::stale_token);
}

// Of a name that was forgotten nobody knows whose tokens it took.
TEST_F(SqliteFence, WhatWasForgottenTakesTokensOfItsDomainOnly) {
    ASSERT_EQ(sqlite_fence::raise(db, "a", token(5)), error_code());
    EXPECT_EQ(sqlite_fence::forget(db, token(1).domain, 0, 9).value(), 1u);
    EXPECT_EQ(sqlite_fence::raise(db, "a", token(9, "other")), errc::foreign_domain);
    EXPECT_EQ(sqlite_fence::raise(db, "b", token(9, "other")), errc::foreign_domain);
    EXPECT_EQ(sqlite_fence::raise(db, "b", token(9)), error_code());
}

TEST_F(SqliteFence, ForgetsNothingWhereTwoDomainsAre) {
    ASSERT_EQ(sqlite_fence::raise(db, "a", token(5)), error_code());
    ASSERT_EQ(sqlite_fence::raise(db, "b", token(5, "other")), error_code());
    for (const char* domain : {"locks", "other", "third"})
        EXPECT_EQ(
            sqlite_fence::forget(db, token(1, domain).domain, 0, 9).error(), errc::foreign_domain
        );
    EXPECT_EQ(sqlite_fence::forget(db, token_domain(), 0, 9).error(), errc::no_token);
    EXPECT_EQ(number("SELECT count(*) FROM mortise_fence"), 2);
    EXPECT_EQ(number("SELECT count(*) FROM mortise_fence_floor"), 0);
}

TEST_F(SqliteFence, ForgetsInTheTransactionThatIsOpen) {
    ASSERT_EQ(sqlite_fence::raise(db, "a", token(5)), error_code());
    run("BEGIN");
    EXPECT_EQ(sqlite_fence::forget(db, token(1).domain, 0, 9).value(), 1u);
    run("ROLLBACK");
    EXPECT_EQ(sqlite_fence::raise(db, "b", token(1)), error_code()) << "there is no floor";
    EXPECT_EQ(number("SELECT count(*) FROM mortise_fence"), 2);
}

// As a version before this one made it.
TEST_F(SqliteFence, ATableWithoutAFloorIsUsedAsItIs) {
    run("CREATE TABLE mortise_fence(resource BLOB PRIMARY KEY, domain TEXT NOT NULL,"
        " token INTEGER NOT NULL) WITHOUT ROWID");
    run("INSERT INTO mortise_fence VALUES(x'73', 'locks', 5)");
    EXPECT_EQ(write(token(4), 0), errc::stale_token);
    EXPECT_EQ(write(token(5), 9), error_code());
    EXPECT_EQ(sqlite_fence::forget(db, token(1).domain, 0, 9).value(), 1u);
    EXPECT_EQ(write(token(4), 0), errc::stale_token);
}

TEST_F(SqliteFence, SaysWhenTheDatabaseCannotBeWritten) {
    ASSERT_EQ(sqlite_fence::raise(db, "s", token(1)), error_code());
    run("PRAGMA query_only = 1");
    EXPECT_EQ(sqlite_fence::raise(db, "s", token(2)), errc::not_writable);
}

TEST_F(SqliteFence, TellsThatAnotherConnectionIsWriting) {
    std::string pattern = std::filesystem::temp_directory_path() / "mortise-fence-XXXXXX";
    const std::filesystem::path folder = ::mkdtemp(pattern.data());
    sqlite3* one = nullptr;
    sqlite3* other = nullptr;
    ASSERT_EQ(::sqlite3_open((folder / "shop.db").c_str(), &one), SQLITE_OK);
    ASSERT_EQ(::sqlite3_open((folder / "shop.db").c_str(), &other), SQLITE_OK);
    ASSERT_EQ(sqlite_fence::raise(one, "s", token(1)), error_code());
    ASSERT_EQ(::sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite_fence::raise(one, "s", token(2)), errc::store_unavailable);
    ::sqlite3_close(other);
    EXPECT_EQ(sqlite_fence::raise(one, "s", token(2)), error_code());
    ::sqlite3_close(one);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mortise::test::fence_sqlite_test
