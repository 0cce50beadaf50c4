// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQL_ROW_LOCK_SUITE_HPP
#define MORTISE_TESTS_UNIT_SQL_ROW_LOCK_SUITE_HPP

#include "mortise/db/row_locks.hpp"
#include "support/eventually.hpp"
#include "unit/sql/sql_scene.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <set>

// Locks of rows, at a real server.
namespace mortise::test {

using namespace std::chrono_literals;

inline asio::awaitable<void> let_others_in() {
    co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
}

template <class Scene>
class RowLocks : public SqlScene<Scene> {
public:
    using row = db::row;
    using table_row = db::table_row;

protected:
    RowLocks() {
        this->sql("CREATE TABLE stock(id BIGINT PRIMARY KEY, amount BIGINT NOT NULL)");
        this->sql("INSERT INTO stock VALUES (1, 5), (2, 5), (3, 5), (4, 5)");
    }

    /// Locks a row and changes it.
    struct take_first {
        template <class Connection>
        asio::awaitable<void> operator()(Connection& on) const {
            co_await db::lock_row(on, table_row("stock", 1));
            co_await ask(on, "UPDATE stock SET amount = 4 WHERE id = 1");
        }
    };
    using holder = pausing_transaction<SqlScene<Scene>, take_first>;

    void leave(holder& by) {
        by.go_on(*this);
        this->run_until_all_ended({by.end});
    }

    asio::awaitable<void> lock_first(std::chrono::milliseconds wait_max, std::int64_t& amount) {
        auto work = [&, wait_max](auto& on) -> asio::awaitable<void> {
            const row found = co_await db::lock_row(on, table_row("stock", 1), wait_max);
            amount = found.integer("amount");
        };
        co_await this->transaction(this->session, work);
    }

    /// The limits of all connections of the session.
    std::set<std::string> lock_time_outs() {
        std::set<std::string> found;
        auto work = [&](auto& on) -> asio::awaitable<void> {
            found.insert(co_await this->scene.lock_time_out(on));
            co_await let_others_in();
        };
        std::vector<typename SqlScene<Scene>::outcome> looks;
        for (int i = 0; i < 8; ++i)
            looks.push_back(this->start(this->transaction(this->session, work)));
        this->run_until_all_ended(looks);
        return found;
    }

    asio::awaitable<void> buy(int& sold) {
        auto work = [this, &sold](auto& on) -> asio::awaitable<void> {
            ++buyers_inside;
            buyers_most = std::max(buyers_most, buyers_inside);
            const row found = co_await db::lock_row(on, table_row("stock", 1));
            const auto left = found.integer("amount");
            --buyers_inside;
            if (left == 0)
                co_return;
            co_await let_others_in();
            co_await ask(
                on, "UPDATE stock SET amount = " + std::to_string(left - 1) + " WHERE id = 1"
            );
            ++sold;
        };
        co_await this->transaction(this->session, work);
    }

    int buyers_inside = 0;
    int buyers_most = 0;

    // Locks two rows in the order of the call, or the other way round.
    asio::awaitable<void> move_one(std::int64_t from, std::int64_t to, int times) {
        auto work = [from, to](auto& on) -> asio::awaitable<void> {
            std::vector<table_row> targets = {table_row("stock", from), table_row("stock", to)};
            const auto rows = co_await db::lock_rows(on, std::move(targets));
            EXPECT_EQ(rows[0].integer("id"), from) << "in the order of the call";
            EXPECT_EQ(rows[1].integer("id"), to);
            co_await let_others_in();
            const auto set = [](std::int64_t id, std::int64_t amount) {
                return "UPDATE stock SET amount = " + std::to_string(amount) +
                       " WHERE id = " + std::to_string(id);
            };
            co_await ask(on, set(from, rows[0].integer("amount") - 1));
            co_await ask(on, set(to, rows[1].integer("amount") + 1));
        };
        for (int i = 0; i < times; ++i)
            co_await this->transaction(this->session, work);
    }

    // Takes jobs until none is free.
    asio::awaitable<void> work_off(std::vector<std::int64_t>& done) {
        bool any = true;
        auto work = [&](auto& on) -> asio::awaitable<void> {
            db::bound_sql filter("amount > 0");
            const auto jobs = co_await db::lock_free_rows(on, "stock", std::move(filter), 2);
            any = !jobs.empty();
            co_await let_others_in();
            for (const row& each : jobs) {
                done.push_back(each.integer("id"));
                co_await ask(
                    on,
                    "UPDATE stock SET amount = 0 WHERE id = " + std::to_string(each.integer("id"))
                );
            }
        };
        while (any)
            co_await this->transaction(
                this->session, work, {.level = db::isolation::read_committed}
            );
    }
};

TYPED_TEST_SUITE_P(RowLocks);

TYPED_TEST_P(RowLocks, ManyBuyersOfFewItemsOversellNothing) {
    int sold = 0;
    std::vector<typename TestFixture::outcome> buyers;
    for (int i = 0; i < 40; ++i)
        buyers.push_back(this->start(this->buy(sold)));
    this->run_until_all_ended(buyers);
    EXPECT_EQ(sold, 5);
    EXPECT_EQ(this->number("SELECT amount FROM stock WHERE id = 1"), 0);
    EXPECT_GT(this->buyers_most, 1) << "they never met";
}

TYPED_TEST_P(RowLocks, AWaiterReadsWhatTheHolderWrote) {
    typename TestFixture::holder by(*this, {});
    std::int64_t amount = 0;
    const auto waiter = this->start(this->lock_first(db::wait_as_configured, amount));
    this->run_until([&] { return this->scene.waiting() == 1; });
    EXPECT_FALSE(waiter->ended);
    this->leave(by);
    this->run_until_all_ended({waiter});
    EXPECT_EQ(amount, 4);
}

TYPED_TEST_P(RowLocks, NowaitIsRefusedAtOnce) {
    typename TestFixture::holder by(*this, {});
    std::int64_t amount = 0;
    const auto refused = this->start(this->lock_first(0ms, amount));
    this->run_until([&] { return refused->ended; });
    EXPECT_EQ(refused->code(), errc::row_busy) << refused->text();
    EXPECT_TRUE(refused->code() == condition::row_held);
    EXPECT_TRUE(refused->code() == condition::retryable);
    EXPECT_NE(refused->text().find("stock 1"), std::string::npos) << refused->text();
    EXPECT_FALSE(by.end->ended) << "nobody waited for the holder";
    this->leave(by);
    this->run(this->lock_first(0ms, amount));
    EXPECT_EQ(amount, 4);
}

TYPED_TEST_P(RowLocks, ATimeOutComesInTimeAndNoConnectionKeepsIt) {
    const auto before = this->lock_time_outs();
    typename TestFixture::holder by(*this, {});
    std::int64_t amount = 0;
    const auto begin = clock::now();
    EXPECT_EQ(this->code_of(this->lock_first(1s, amount)), errc::row_busy);
    const auto span = clock::now() - begin;
    EXPECT_GE(span, 900ms);
    EXPECT_LT(span, 20s) << "less than what the servers are set up for";
    EXPECT_FALSE(by.end->ended);
    this->leave(by);
    this->run(this->lock_first(1s, amount));
    EXPECT_EQ(this->lock_time_outs(), before) << "each connection has its own";
}

TYPED_TEST_P(RowLocks, ALimitHoldsForOneStatementOnly) {
    const auto work = [this](auto& on) -> asio::awaitable<void> {
        const auto before = co_await this->scene.lock_time_out(on);
        co_await db::lock_row(on, db::table_row("stock", 1), 1s);
        co_await db::lock_row(on, db::table_row("stock", 1), std::chrono::hours(24 * 365));
        EXPECT_EQ(co_await this->scene.lock_time_out(on), before);
    };
    this->run(this->transaction(this->session, work));
}

TYPED_TEST_P(RowLocks, RowsThatAreLockedInKeyOrderDoNotDeadlock) {
    std::vector<typename TestFixture::outcome> movers;
    for (int i = 0; i < 8; ++i) {
        movers.push_back(
            this->start(i % 2 == 0 ? this->move_one(1, 2, 10) : this->move_one(2, 1, 10))
        );
    }
    this->run_until_all_ended(movers);
    EXPECT_EQ(this->number("SELECT amount FROM stock WHERE id = 1"), 5);
    EXPECT_EQ(this->number("SELECT amount FROM stock WHERE id = 2"), 5);
}

TYPED_TEST_P(RowLocks, SkipLockedHandsOutDistinctRows) {
    typename TestFixture::holder by(*this, {});  // of the first
    std::vector<std::int64_t> done;
    const auto one = this->start(this->work_off(done));
    this->run_until_all_ended({one});
    EXPECT_EQ(done, (std::vector<std::int64_t>{2, 3, 4})) << "all but the one that is held";
    this->leave(by);
    this->sql("UPDATE stock SET amount = 1");
    for (int i = 5; i <= 40; ++i)
        this->sql("INSERT INTO stock VALUES (" + std::to_string(i) + ", 1)");
    done.clear();
    std::vector<typename TestFixture::outcome> workers;
    for (int i = 0; i < 6; ++i)
        workers.push_back(this->start(this->work_off(done)));
    this->run_until_all_ended(workers);
    EXPECT_EQ(done.size(), 40u);
    EXPECT_EQ(std::set<std::int64_t>(done.begin(), done.end()).size(), 40u) << "each once";
}

TYPED_TEST_P(RowLocks, ACancelledWaitEndsAtTheServer) {
    typename TestFixture::holder by(*this, {});
    asio::cancellation_signal stop;
    std::int64_t amount = 0;
    const auto waiter = this->start(this->lock_first(db::wait_as_configured, amount), stop.slot());
    this->run_until([&] { return this->scene.waiting() == 1; });
    stop.emit(asio::cancellation_type::terminal);
    this->run_until([&] { return waiter->ended; });
    EXPECT_EQ(waiter->code(), asio::error::operation_aborted) << waiter->text();
    EXPECT_TRUE(eventually([&] { return this->scene.waiting() == 0; }));
    EXPECT_FALSE(by.end->ended);
    this->leave(by);
}

TYPED_TEST_P(RowLocks, TellsOfRowsThatAreMissing) {
    const auto work = [](auto& on) -> asio::awaitable<void> {
        co_await db::lock_row(on, db::table_row("stock", 77));
    };
    const auto end = this->start(this->transaction(this->session, work));
    this->run_until([&] { return end->ended; });
    EXPECT_EQ(end->code(), errc::row_missing);
    EXPECT_NE(end->text().find("stock 77"), std::string::npos) << end->text();
    const auto several = [](auto& on) -> asio::awaitable<void> {
        std::vector<db::table_row> twice = {{"stock", 2}, {"stock", 1}, {"stock", 2}};
        const auto rows = co_await db::lock_rows(on, std::move(twice));
        EXPECT_EQ(rows.size(), 3u);
        EXPECT_EQ(rows.at(0).integer("id"), 2);
        EXPECT_EQ(rows.at(1).integer("id"), 1);
        EXPECT_EQ(rows.at(2).integer("id"), 2);
        std::vector<db::table_row> missing = {{"stock", 1}, {"stock", 78}};
        co_await db::lock_rows(on, std::move(missing));
    };
    EXPECT_EQ(this->code_of(this->transaction(this->session, several)), errc::row_missing);
    const auto negative = [](auto& on) -> asio::awaitable<void> {
        co_await db::lock_row(on, db::table_row("stock", 1), -1ms);
    };
    EXPECT_EQ(this->code_of(this->transaction(this->session, negative)), errc::duration_negative);
}

TYPED_TEST_P(RowLocks, QuotesNamesAndRefusesImpossibleOnes) {
    const std::string q = this->scene.quote;
    const std::string name = "odd`\" name";
    std::string quoted = q;
    for (const char c : name)
        quoted += c == q[0] ? q + q : std::string(1, c);
    quoted += q;
    this->sql("CREATE TABLE " + quoted + "(" + q + "Key" + q + " VARCHAR(20) PRIMARY KEY)");
    this->sql("INSERT INTO " + quoted + " VALUES ('x'' OR 1=1')");
    const auto work = [&name](auto& on) -> asio::awaitable<void> {
        db::table_row target(name, std::string("x' OR 1=1"));
        target.id_column = "Key";
        const db::row found = co_await db::lock_row(on, target);
        EXPECT_EQ(found.text("Key"), "x' OR 1=1");
    };
    this->run(this->transaction(this->session, work));
    for (const std::string& wrong : {std::string(), std::string(64, 'x'), std::string("a\0b", 3)}) {
        const auto mistake = [&wrong](auto& on) -> asio::awaitable<void> {
            co_await db::lock_row(on, db::table_row(wrong, 1));
        };
        EXPECT_EQ(this->code_of(this->transaction(this->session, mistake)), errc::value_refused);
    }
}

REGISTER_TYPED_TEST_SUITE_P(
    RowLocks,
    ManyBuyersOfFewItemsOversellNothing,
    AWaiterReadsWhatTheHolderWrote,
    NowaitIsRefusedAtOnce,
    ATimeOutComesInTimeAndNoConnectionKeepsIt,
    ALimitHoldsForOneStatementOnly,
    RowsThatAreLockedInKeyOrderDoNotDeadlock,
    SkipLockedHandsOutDistinctRows,
    ACancelledWaitEndsAtTheServer,
    TellsOfRowsThatAreMissing,
    QuotesNamesAndRefusesImpossibleOnes
);

}  // namespace mortise::test

#endif
