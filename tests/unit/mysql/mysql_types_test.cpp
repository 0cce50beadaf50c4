// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"
#include "support/co_test.hpp"
#include "unit/mysql/mysql_party.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace mortise::test {
namespace {

constexpr auto smallest = std::numeric_limits<std::int64_t>::min();
constexpr auto largest = std::numeric_limits<std::int64_t>::max();

std::string all_bytes() {
    std::string bytes;
    for (int i = 0; i < 256; ++i)
        bytes += static_cast<char>(i);
    return bytes;
}

void expect_same_row(const db::row& found) {
    EXPECT_EQ(found.integer("small"), smallest);
    EXPECT_EQ(found.integer("large"), largest);
    EXPECT_DOUBLE_EQ(found.real("ratio"), 0.1);
    EXPECT_FLOAT_EQ(static_cast<float>(found.real("rough")), 1.5F);
    EXPECT_EQ(
        found.text("words"),
        "stra\xc3\x9f"
        "e ' \" \\ ? %"
    );
    EXPECT_EQ(found.bytes("raw"), all_bytes());
    EXPECT_TRUE(found.is_null("nothing"));
    EXPECT_EQ(found.text("price"), "12345678901234.50000");
    EXPECT_EQ(found.text("at"), "2026-11-25 23:59:58.123456");
    EXPECT_EQ(found.text("day"), "2026-02-28");
    EXPECT_EQ(found.text("span"), "-101:02:03.450");
    EXPECT_EQ(found.integer("flags"), 5);
    EXPECT_EQ(found.integer("since"), 1999);
    EXPECT_EQ(found.text("colour"), "red");
    EXPECT_EQ(found.integer("yes"), 1);
    EXPECT_EQ(found.integer("natural_number"), 42);
    EXPECT_EQ(found.size(), 16u);
}

asio::awaitable<void> come_back(db::mysql& shop) {
    auto making = shop.query(
        "CREATE TABLE t (small BIGINT, large BIGINT, ratio DOUBLE, rough FLOAT, words TEXT, "
        "raw BLOB, nothing INT, price DECIMAL(20,5), at DATETIME(6), day DATE, span TIME(3), "
        "flags BIT(8), since YEAR, colour ENUM('red','green'), yes BOOL, "
        "natural_number BIGINT UNSIGNED)"
    );
    co_await std::move(making);
    const std::string words = "stra\xc3\x9f"
                              "e ' \" \\ ? %";
    auto adding = shop.query(
        "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        smallest,
        largest,
        0.1,
        1.5,
        words,
        db::blob(all_bytes()),
        nullptr,
        "12345678901234.5",
        "2026-11-25 23:59:58.123456",
        "2026-02-28",
        "-101:02:03.45",
        5,
        1999,
        "red",
        true,
        std::optional<int>(42)
    );
    const auto added = co_await std::move(adding);
    EXPECT_EQ(added.affected, 1);
    EXPECT_TRUE(added.empty());
    // Without parameters the server answers in text, with parameters in its binary form.
    auto as_text = shop.query("SELECT * FROM t");
    const auto first = co_await std::move(as_text);
    auto as_binary = shop.query("SELECT * FROM t WHERE small = ?", smallest);
    const auto second = co_await std::move(as_binary);
    CO_ASSERT(first.rows.size() == 1 && second.rows.size() == 1);
    EXPECT_EQ(first.affected, 1);
    expect_same_row(first.first());
    expect_same_row(second.first());
}

TEST(MysqlTypes, ComeBackAsTheyWent) {
    mysql_party party;
    auto shop = party.open();
    party.finish([&] { return come_back(shop); });
}

asio::awaitable<void> refuse_large_numbers(db::mysql& shop) {
    auto asking = end_of(shop.query("SELECT 1, CAST(18446744073709551615 AS UNSIGNED) AS n"));
    const auto ended = co_await std::move(asking);
    EXPECT_EQ(ended.code, errc::column_type);
    EXPECT_NE(ended.text.find("n: it is above"), std::string::npos) << ended.text;
    auto again = shop.query("SELECT CAST(CAST(18446744073709551615 AS UNSIGNED) AS CHAR) AS n");
    const auto found = co_await std::move(again);
    EXPECT_EQ(found.first().text("n"), "18446744073709551615");
    EXPECT_EQ(shop.stats().connections_opened, 1u) << "such a number is no reason to reconnect";
}

TEST(MysqlTypes, AnUnsignedNumberThatDoesNotFitIsAnError) {
    mysql_party party;
    auto shop = party.open();
    party.finish([&] { return refuse_large_numbers(shop); });
}

TEST(MysqlTypes, AnUnsignedNumberThatDoesNotFitIsNotBound) {
    constexpr auto limit = static_cast<std::uint64_t>(largest);
    EXPECT_EQ(db::bound_sql("?", limit).values.front(), db::column_value(largest));
    try {
        const db::bound_sql refused("?", limit + 1);
        FAIL() << "it would become negative";
    } catch (const error& thrown) {
        EXPECT_EQ(thrown.code(), errc::value_refused);
    }
}

asio::awaitable<void> count_parameters(db::mysql& shop) {
    auto asking = end_of(shop.query("SELECT ? + ?", 1));
    const auto ended = co_await std::move(asking);
    EXPECT_EQ(ended.code, errc::value_refused);
    EXPECT_NE(ended.text.find("2 parameters, and 1 values"), std::string::npos) << ended.text;
    auto good = shop.query("SELECT ? + ? AS sum", 1, 2);
    const auto found = co_await std::move(good);
    EXPECT_EQ(found.first().real("sum"), 3);
}

TEST(MysqlTypes, TheNumberOfParametersMustBeRight) {
    mysql_party party;
    auto shop = party.open();
    party.finish([&] { return count_parameters(shop); });
}

asio::awaitable<void> compare_bytes(db::mysql& shop) {
    auto making = shop.query("CREATE TABLE names (name VARBINARY(1024) PRIMARY KEY)");
    co_await std::move(making);
    for (const std::string name : {"a", "A", "a ", "\xff\x01"}) {
        auto adding = shop.query("INSERT INTO names VALUES (?)", db::blob(name));
        co_await std::move(adding);
    }
    auto asking = shop.query("SELECT name FROM names WHERE name = ?", db::blob("A"));
    const auto found = co_await std::move(asking);
    CO_ASSERT(found.rows.size() == 1);
    EXPECT_EQ(found.first().bytes("name"), "A");
}

TEST(MysqlTypes, BytesAreComparedAsBytes) {
    mysql_party party;
    auto shop = party.open();
    party.finish([&] { return compare_bytes(shop); });
}

asio::awaitable<void> keep_few_statements(db::mysql& shop) {
    for (int turn = 0; turn < 3; ++turn) {
        for (int i = 0; i < 5; ++i) {
            auto asking = shop.query("SELECT ? + " + std::to_string(i) + " AS sum", turn);
            const auto found = co_await std::move(asking);
            EXPECT_EQ(found.first().real("sum"), turn + i);
        }
    }
}

TEST(MysqlTypes, OnlySomePreparedStatementsAreKept) {
    mysql_party party;
    auto config = party.config();
    config.statements_max = 2;
    config.connections_max = 1;
    auto shop = party.open(config);
    party.finish([&] { return keep_few_statements(shop); });
    EXPECT_EQ(
        party.run("SELECT SUM(variable_value) <= 2 FROM information_schema.global_status "
                  "WHERE variable_name = 'PREPARED_STMT_COUNT'"),
        "1"
    );
}

asio::awaitable<void> make_mistakes(db::mysql& shop) {
    auto making = shop.query("CREATE TABLE t (id INT PRIMARY KEY)");
    co_await std::move(making);
    auto adding = shop.query("INSERT INTO t VALUES (1)");
    co_await std::move(adding);
    auto twice = end_of(shop.query("INSERT INTO t VALUES (?)", 1));
    auto ended = co_await std::move(twice);
    EXPECT_EQ(ended.code, db::mysql_error(1062));
    EXPECT_NE(ended.code, condition::retryable);
    EXPECT_NE(ended.text.find("Duplicate entry '1'"), std::string::npos) << ended.text;
    auto nonsense = end_of(shop.query("SELEC 1"));
    ended = co_await std::move(nonsense);
    EXPECT_EQ(ended.code, db::mysql_error(1064));
    auto missing = end_of(shop.query("SELECT * FROM missing WHERE id = ?", 1));
    ended = co_await std::move(missing);
    EXPECT_EQ(ended.code, db::mysql_error(1146));
    EXPECT_EQ(shop.stats().connections_opened, 1u);
}

TEST(MysqlTypes, AMistakeKeepsItsNumberAndTheServersWords) {
    mysql_party party;
    auto shop = party.open();
    party.finish([&] { return make_mistakes(shop); });
}

}  // namespace
}  // namespace mortise::test
