// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/mysql.hpp"
#include "mortise/error.hpp"
#include "mysql/mysql_place.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

namespace mortise::test {
namespace {

using std::chrono::milliseconds;

TEST(MysqlUrl, NamesServerUserAndDatabase) {
    const auto config = db::parse_mysql_url("mariadb://us%40er:se%3Acret@db.example:3307/shop");
    EXPECT_EQ(config.host, "db.example");
    EXPECT_EQ(config.port, 3307);
    EXPECT_EQ(config.user, "us@er");
    EXPECT_EQ(config.password, "se:cret");
    EXPECT_EQ(config.database, "shop");
    EXPECT_FALSE(config.tls);
    EXPECT_EQ(db::parse_mysql_url("mysql://localhost").port, 3306);
}

TEST(MysqlUrl, TakesOptions) {
    ::setenv("MORTISE_TEST_SECRET", "from-outside", 1);
    const auto config = db::parse_mysql_url(
        "mysql://shop@localhost/shop?socket=/run/mysqld.sock&sslrootcert=/ca.pem&connections_max=3&"
        "statements_max=4&connect_max_ms=5&wait_max_ms=6&outcome_table=ends&"
        "password_env=MORTISE_TEST_SECRET"
    );
    ::unsetenv("MORTISE_TEST_SECRET");
    EXPECT_EQ(config.socket, "/run/mysqld.sock");
    EXPECT_TRUE(config.tls);
    EXPECT_EQ(config.ca_file, "/ca.pem");
    EXPECT_EQ(config.connections_max, 3u);
    EXPECT_EQ(config.statements_max, 4u);
    EXPECT_EQ(config.connect_max, milliseconds(5));
    EXPECT_EQ(config.wait_max, milliseconds(6));
    EXPECT_EQ(config.outcome_table, "ends");
    EXPECT_EQ(config.password, "from-outside");
}

error_code code_of(const std::string& url) {
    try {
        db::parse_mysql_url(url);
    } catch (const error& thrown) {
        EXPECT_EQ(std::string(thrown.what()).find("sesame"), std::string::npos) << thrown.what();
        return thrown.code();
    }
    return {};
}

TEST(MysqlUrl, RefusesMistakesWithoutShowingThePassword) {
    EXPECT_EQ(code_of("oracle://u:sesame@h"), errc::unknown_scheme);
    EXPECT_EQ(code_of("mysql://u:sesame@h?colour=red"), errc::bad_url);
    EXPECT_EQ(code_of("mysql://u:sesame@h?sslmode=prefer"), errc::bad_url);
    EXPECT_EQ(code_of("mysql://u:sesame@h,i/shop"), errc::bad_url);
    EXPECT_EQ(code_of("mysql://u:sesame@h:99999"), errc::bad_url);
    EXPECT_EQ(code_of("mysql://u:sesame@h?password_env=NOT_SET_ANYWHERE"), errc::bad_url);
}

TEST(MysqlConfig, IsCheckedWhenTheSessionIsMade) {
    asio::io_context context;
    const auto refused = [&](auto change) {
        db::mysql_config config;
        change(config);
        try {
            const db::mysql session(context.get_executor(), config);
        } catch (const error& thrown) {
            return thrown.code() == errc::bad_config;
        }
        return false;
    };
    EXPECT_FALSE(refused([](db::mysql_config&) {}));
    EXPECT_TRUE(refused([](db::mysql_config& c) { c.host.clear(); }));
    EXPECT_TRUE(refused([](db::mysql_config& c) { c.port = 0; }));
    EXPECT_TRUE(refused([](db::mysql_config& c) { c.connections_max = 0; }));
    EXPECT_TRUE(refused([](db::mysql_config& c) { c.connections_max = 1'001; }));
    EXPECT_TRUE(refused([](db::mysql_config& c) { c.statements_max = 0; }));
    EXPECT_TRUE(refused([](db::mysql_config& c) { c.wait_max = milliseconds(-1); }));
    EXPECT_TRUE(refused([](db::mysql_config& c) { c.outcome_table = "a`b"; }));
    EXPECT_TRUE(refused([](db::mysql_config& c) { c.outcome_table = "ends"; }));
    EXPECT_TRUE(refused([](db::mysql_config& c) { c.key_file = "/key.pem"; }));
    EXPECT_TRUE(refused([](db::mysql_config& c) {
        c.tls = true;
        c.ca_file = "/nowhere/ca.pem";
    }));
}

TEST(MysqlTransactionControl, IsRecognised) {
    const db::detail::mysql_place place{db::mysql_config()};
    for (const char* const sql :
         {"COMMIT",
          " commit work",
          "ROLLBACK",
          "rollback work",
          "BEGIN",
          "START TRANSACTION",
          "/* x */ COMMIT",
          "-- x\nCOMMIT",
          "# x\n\tCOMMIT",
          "/*! COMMIT */",
          "/*M!100100 COMMIT */",
          "SET autocommit = 0",
          "set session AUTOCOMMIT=1",
          "SET @a = 1, @@autocommit = 1",
          "CREATE TABLE t (id INT)",
          "CREATE OR REPLACE TABLE t (id INT)",
          "DROP TABLE t",
          "ALTER TABLE t ADD c INT",
          "TRUNCATE t",
          "LOCK TABLES t WRITE",
          "XA START 'x'"})
        EXPECT_TRUE(place.controls_transaction(sql, true)) << sql;
    for (const char* const sql :
         {"",
          "SELECT 'COMMIT'",
          "UPDATE t SET autocommit = 1",
          "SET @autocommit = 1",
          "SET innodb_lock_wait_timeout = 1",
          "SAVEPOINT a",
          "ROLLBACK TO a",
          "ROLLBACK WORK TO SAVEPOINT a",
          "RELEASE SAVEPOINT a",
          "CREATE TEMPORARY TABLE t (id INT)",
          "DROP TEMPORARY TABLE t",
          "CREATE OR REPLACE TEMPORARY TABLE t (id INT)",
          "committed",
          "/* COMMIT"})
        EXPECT_FALSE(place.controls_transaction(sql, true)) << sql;
}

}  // namespace
}  // namespace mortise::test
