// SPDX-License-Identifier: BSL-1.0
#include "unit/mysql/mysql_party.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::test {
namespace {

using db::mysql_connection;
using db::query_result;

class MysqlTransaction : public testing::Test {
protected:
    MysqlTransaction() {
        party.run("CREATE TABLE stock (id INT PRIMARY KEY, amount INT NOT NULL)");
        party.run("INSERT INTO stock VALUES (1, 10), (2, 10)");
    }

    std::string amount(int id) const {
        return party.run("SELECT amount FROM stock WHERE id = " + std::to_string(id));
    }

    mysql_party party;
    db::mysql shop = party.open();
};

asio::awaitable<void> take_one(mysql_connection& on, int id) {
    auto taking = on.query("UPDATE stock SET amount = amount - 1 WHERE id = ?", id);
    const query_result taken = co_await std::move(taking);
    EXPECT_EQ(taken.affected, 1);
}

TEST_F(MysqlTransaction, IsNotEndedByAStatementOfTheClosure) {
    const auto meddle = [](mysql_connection& on) -> asio::awaitable<void> {
        co_await take_one(on, 1);
        for (const char* const sql :
             {"COMMIT", "CREATE TABLE other (id INT)", "set AUTOCOMMIT=1"}) {
            auto refused = end_of(on.query(sql));
            const auto ended = co_await std::move(refused);
            EXPECT_EQ(ended.code, errc::transaction_control) << sql;
        }
        auto saving = on.query("SAVEPOINT here");
        co_await std::move(saving);
        co_await take_one(on, 2);
        auto undoing = on.query("ROLLBACK TO here");
        co_await std::move(undoing);
    };
    ended_with ended;
    party.finish([&]() -> asio::awaitable<void> {
        ended = co_await end_of(shop.async_run(meddle));
    });
    EXPECT_EQ(ended.code, errc::transaction_control) << "even if the refusal is ignored";
    EXPECT_EQ(amount(1), "10");
    EXPECT_EQ(amount(2), "10");
}

// The server keeps the transaction after a lock time-out, without the statement that waited.
asio::awaitable<void> hide_lock_time_out(mysql_connection& on) {
    auto setting = on.query("SET innodb_lock_wait_timeout = 1");
    co_await std::move(setting);
    co_await take_one(on, 2);
    auto waiting = end_of(on.query("UPDATE stock SET amount = 0 WHERE id = 1"));
    auto ended = co_await std::move(waiting);
    EXPECT_EQ(ended.code, db::mysql_error(1205)) << ended.text;
    auto later = end_of(on.query("UPDATE stock SET amount = 5 WHERE id = 2"));
    ended = co_await std::move(later);
    EXPECT_EQ(ended.code, errc::rolled_back) << ended.text;
}

TEST_F(MysqlTransaction, ThatHidesALockTimeOutIsUndoneAllTheSame) {
    other_transaction other(party);
    other.run("SELECT * FROM stock WHERE id = 1 FOR UPDATE");
    ended_with ended;
    party.finish([&]() -> asio::awaitable<void> {
        ended = co_await end_of(shop.async_run(hide_lock_time_out));
    });
    EXPECT_EQ(ended.code, errc::rolled_back) << ended.text;
    EXPECT_EQ(amount(2), "10");
}

}  // namespace
}  // namespace mortise::test
