// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/event.hpp"
#include "support/eventually.hpp"
#include "unit/mysql/mysql_party.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <gtest/gtest.h>

#include <stdexcept>
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

TEST_F(MysqlTransaction, IsCommittedWhenTheClosureReturns) {
    const auto sell = [](mysql_connection& on) -> asio::awaitable<int> {
        co_await take_one(on, 1);
        auto asking = on.query("SELECT amount FROM stock WHERE id = ?", 1);
        const query_result found = co_await std::move(asking);
        co_return static_cast<int>(found.first().integer("amount"));
    };
    int left = 0;
    party.finish([&]() -> asio::awaitable<void> { left = co_await shop.async_run(sell); });
    EXPECT_EQ(left, 9);
    EXPECT_EQ(amount(1), "9");
    EXPECT_EQ(shop.stats().committed, 1u);
    EXPECT_EQ(shop.stats().in_use, 0u);
    EXPECT_EQ(shop.stats().idle, 1u);
}

TEST_F(MysqlTransaction, IsUndoneByAnExceptionWhichPassesUnchanged) {
    const auto fail = [](mysql_connection& on) -> asio::awaitable<void> {
        co_await take_one(on, 1);
        throw std::out_of_range("no such item");
    };
    EXPECT_THROW(
        party.finish([&]() -> asio::awaitable<void> { co_await shop.async_run(fail); }),
        std::out_of_range
    );
    EXPECT_EQ(amount(1), "10");
    EXPECT_EQ(shop.stats().rolled_back, 1u);
    EXPECT_EQ(shop.stats().idle, 1u) << "the connection is as good as before";
}

TEST_F(MysqlTransaction, ThatReadsOnlyRefusesToWrite) {
    const auto sell = [](mysql_connection& on) -> asio::awaitable<void> {
        co_await take_one(on, 1);
    };
    ended_with ended;
    party.finish([&]() -> asio::awaitable<void> {
        ended = co_await end_of(shop.async_run(sell, {.read_only = true}));
    });
    EXPECT_EQ(ended.code, db::mysql_error(1792)) << ended.text;
}

TEST_F(MysqlTransaction, SeesOthersAsItsIsolationSays) {
    const auto twice = [this](mysql_connection& on) -> asio::awaitable<bool> {
        const std::string sql = "SELECT amount FROM stock WHERE id = 1";
        auto asking = on.query(sql);
        const query_result before = co_await std::move(asking);
        party.run("UPDATE stock SET amount = amount + 1 WHERE id = 1");
        auto again = on.query(sql);
        const query_result after = co_await std::move(again);
        co_return before.first().integer(0) == after.first().integer(0);
    };
    party.finish([&]() -> asio::awaitable<void> {
        EXPECT_TRUE(co_await shop.async_run(twice, {.level = db::isolation::repeatable_read}));
        EXPECT_FALSE(co_await shop.async_run(twice, {.level = db::isolation::read_committed}));
        EXPECT_TRUE(co_await shop.async_run(twice, {.level = db::isolation::repeatable_read}));
    });
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
    party.finish([&]() -> asio::awaitable<void> { co_await shop.async_run(meddle); });
    EXPECT_EQ(amount(1), "9");
    EXPECT_EQ(amount(2), "10");
}

TEST_F(MysqlTransaction, RunsOneStatementAfterTheOther) {
    const auto hurry = [](mysql_connection& on) -> asio::awaitable<void> {
        using namespace asio::experimental::awaitable_operators;
        auto both = end_of(on.query("UPDATE stock SET amount = 5 WHERE id = 1")) &&
                    end_of(on.query("SELECT 1"));
        auto ends = co_await std::move(both);
        EXPECT_FALSE(std::get<0>(ends).code);
        EXPECT_EQ(std::get<1>(ends).code, errc::transaction_control);
    };
    const auto leave = [](mysql_connection& on) -> asio::awaitable<void> {
        on.async_query(db::bound_sql("UPDATE stock SET amount = 0 WHERE id = 2"), asio::detached);
        co_return;
    };
    other_transaction other(party);
    other.run("SELECT * FROM stock WHERE id = 2 FOR UPDATE");
    ended_with ended;
    party.finish([&]() -> asio::awaitable<void> {
        co_await shop.async_run(hurry);
        ended = co_await end_of(shop.async_run(leave));
        co_await shop.async_run(hurry);
    });
    EXPECT_EQ(ended.code, errc::transaction_control) << ended.text;
    EXPECT_EQ(amount(1), "5");
    other.run("ROLLBACK");
    EXPECT_TRUE(eventually([this] { return !party.waits(); }));
    EXPECT_EQ(amount(2), "10");
}

/// Two transactions that lock two rows in opposite orders.
class crossing {
public:
    explicit crossing(const asio::any_io_executor& executor)
        : first_(executor), second_(executor) {}

    asio::awaitable<void> first(mysql_connection& on) { co_await cross(on, 1, 2, first_, second_); }
    asio::awaitable<void> second(mysql_connection& on) {
        co_await cross(on, 2, 1, second_, first_);
    }
    int runs = 0;

private:
    asio::awaitable<void>
    cross(mysql_connection& on, int from, int to, coro::event& mine, coro::event& others) {
        ++runs;
        co_await take_one(on, from);
        mine.set();
        co_await others.async_wait();
        co_await take_one(on, to);
    }

    coro::event first_;
    coro::event second_;
};

asio::awaitable<void>
cross_over(db::mysql& shop, crossing& both, db::transaction_options how, int& failures) {
    using namespace asio::experimental::awaitable_operators;
    const auto one = [&](mysql_connection& on) { return both.first(on); };
    const auto two = [&](mysql_connection& on) { return both.second(on); };
    auto meeting = end_of(shop.async_run(one, how)) && end_of(shop.async_run(two, how));
    auto ends = co_await std::move(meeting);
    for (const auto& each : {std::get<0>(ends), std::get<1>(ends)}) {
        if (!each.code)
            continue;
        ++failures;
        EXPECT_EQ(each.code, db::mysql_error(1213)) << each.text;
        EXPECT_EQ(each.code, condition::retryable);
    }
}

TEST_F(MysqlTransaction, InADeadlockFailsIfItMayNotBeRepeated) {
    crossing both(party.context.get_executor());
    int failures = 0;
    party.finish([&] { return cross_over(shop, both, {}, failures); });
    EXPECT_EQ(failures, 1);
    EXPECT_EQ(both.runs, 2);
    EXPECT_EQ(amount(1), "9");
    EXPECT_EQ(amount(2), "9");
}

TEST_F(MysqlTransaction, InADeadlockIsRepeatedIfItMayBe) {
    crossing both(party.context.get_executor());
    int failures = 0;
    party.finish([&] { return cross_over(shop, both, {.attempts_max = 10}, failures); });
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(both.runs, 3);
    EXPECT_EQ(shop.stats().repeated, 1u);
    EXPECT_EQ(amount(1), "8");
    EXPECT_EQ(amount(2), "8");
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
