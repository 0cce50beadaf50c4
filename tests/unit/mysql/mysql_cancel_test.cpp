// SPDX-License-Identifier: BSL-1.0
// Statements that are cancelled at the server, and every operation before each of its handlers.
#include "mortise/coro/event.hpp"
#include "support/cancel_sweep.hpp"
#include "support/eventually.hpp"
#include "support/print.hpp"
#include "unit/mysql/mysql_party.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace mortise::test {
namespace {

using db::mysql_connection;
using db::query_result;

/// A table with one row.
class MysqlCancel : public testing::Test {
protected:
    MysqlCancel() {
        party.run("CREATE TABLE stock (id INT PRIMARY KEY, amount INT NOT NULL)");
        party.run("INSERT INTO stock VALUES (1, 10)");
    }

    /// Starts an operation; `ended` gets its end.
    template <class Work>
    void start(db::mysql& shop, Work work) {
        shop.async_run(
            std::move(work),
            {},
            asio::bind_cancellation_slot(
                signal.slot(),
                [this](std::exception_ptr failure) {
                    ended.emplace();
                    try {
                        if (failure)
                            std::rethrow_exception(failure);
                    } catch (const boost::system::system_error& thrown) {
                        *ended = ended_with(thrown.code(), thrown.what());
                    }
                }
            )
        );
    }

    template <class Wanted>
    void run_until(Wanted wanted) {
        party.context.restart();
        while (!wanted() && party.context.run_one() > 0)
            continue;
    }

    mysql_party party;
    asio::cancellation_signal signal;
    std::optional<ended_with> ended;
};

asio::awaitable<void> lock_row(mysql_connection& on, std::uint32_t& connection) {
    connection = on.server_id();
    auto locking = on.query("SELECT amount FROM stock WHERE id = ? FOR UPDATE", 1);
    co_await std::move(locking);
}

TEST_F(MysqlCancel, EndsAStatementAtTheServerAndKeepsTheConnection) {
    auto shop = party.open();
    other_transaction other(party);
    other.run("UPDATE stock SET amount = 9 WHERE id = 1");
    std::uint32_t connection = 0;
    start(shop, [&](mysql_connection& on) { return lock_row(on, connection); });
    run_until([&] { return connection != 0; });
    // Sends the statement, on which the server then waits.
    while (!party.waits())
        party.context.poll();
    signal.emit(asio::cancellation_type::total);
    run_until([&] { return ended.has_value(); });
    EXPECT_EQ(ended->code, asio::error::operation_aborted) << ended->text;
    EXPECT_FALSE(party.waits());
    other.run("ROLLBACK");
    std::uint32_t next = 0;
    party.finish([&]() -> asio::awaitable<void> {
        const auto again = [&](mysql_connection& on) { return lock_row(on, next); };
        co_await shop.async_run(again);
    });
    EXPECT_EQ(next, connection);
    EXPECT_EQ(shop.stats().cancelled, 1u);
    EXPECT_EQ(shop.stats().connections_abandoned, 0u);
    EXPECT_EQ(shop.stats().connections_opened, 1u);
}

TEST_F(MysqlCancel, GivesUpAConnectionIfTheServerStandsStill) {
    mariadb_server server;
    mysql_party still(server);
    still.run("CREATE TABLE stock (id INT PRIMARY KEY, amount INT NOT NULL)");
    auto config = still.config();
    config.cancel_max = std::chrono::milliseconds(100);
    config.connect_max = std::chrono::milliseconds(200);
    auto shop = still.open(config);
    bool inside = false;
    const auto ask = [&](mysql_connection& on) -> asio::awaitable<void> {
        auto first = on.query("INSERT INTO stock VALUES (1, 1)");
        co_await std::move(first);
        server.suspend();
        inside = true;
        auto second = on.query("SELECT amount FROM stock");
        co_await std::move(second);
    };
    asio::cancellation_signal stop;
    std::optional<ended_with> end;
    asio::co_spawn(
        still.context,
        [&]() -> asio::awaitable<void> { end = co_await end_of(shop.async_run(ask)); },
        asio::bind_cancellation_slot(stop.slot(), asio::detached)
    );
    while (!inside)
        still.context.run_one();
    while (still.context.poll_one() > 0)
        continue;
    stop.emit(asio::cancellation_type::terminal);
    while (!end)
        still.context.run_one();
    EXPECT_EQ(end->code, asio::error::operation_aborted) << end->text;
    EXPECT_EQ(shop.stats().connections_abandoned, 1u);
    EXPECT_EQ(shop.stats().idle, 0u);
    ended_with late;
    still.finish([&]() -> asio::awaitable<void> {
        late = co_await end_of(shop.query("SELECT 1"));
    });
    EXPECT_EQ(late.code, errc::store_unavailable) << late.text;
    server.resume();
    still.finish([&]() -> asio::awaitable<void> {
        late = co_await end_of(shop.query("SELECT 1"));
    });
    EXPECT_FALSE(late.code) << late.text;
    EXPECT_TRUE(eventually([&] { return still.run("SELECT COUNT(*) FROM stock") == "0"; }));
}

TEST_F(MysqlCancel, OfATransactionThatSucceedsAtThatMomentUndoesIt) {
    auto shop = party.open();
    start(shop, [&](mysql_connection& on) -> asio::awaitable<void> {
        auto taking = on.query("UPDATE stock SET amount = 0 WHERE id = 1");
        co_await std::move(taking);
        signal.emit(asio::cancellation_type::partial);
    });
    run_until([&] { return ended.has_value(); });
    EXPECT_EQ(ended->code, asio::error::operation_aborted);
    EXPECT_EQ(party.run("SELECT amount FROM stock"), "10");
}

/// The world of one step of a sweep: a context of its own at the server of all.
class sweep_world {
public:
    sweep_world() : shop_(context.get_executor(), config()) {}

    void step_while(const std::function<bool()>& wanted) {
        while (wanted() && context.run_one() > 0)
            continue;
    }
    void settle() {
        context.restart();
        context.run();
    }

    static mysql_party& party() {
        static mysql_party shared;
        return shared;
    }
    db::mysql& shop() { return shop_; }

    asio::io_context context{1};

private:
    static db::mysql_config config() {
        auto config = party().config();
        config.connections_max = 1;
        config.outcome_table = "outcome";
        return config;
    }

    db::mysql shop_;
};

/// Adds a row, and checks afterwards that it is there if and only if the operation succeeded.
class adding_case : public sweep_case {
public:
    explicit adding_case(sweep_world& at) : world(at) {
        sweep_world::party().run("CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)");
        sweep_world::party().run("DELETE FROM t");
    }

    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        // A statement that was sent by itself may have been done before the kill.
        const std::string rows = sweep_world::party().run("SELECT COUNT(*) FROM t");
        EXPECT_EQ(rows, code ? "0" : "1");
        EXPECT_EQ(world.shop().stats().in_use, 0u);
        EXPECT_EQ(world.shop().stats().waiting, 0u);
    }

    sweep_world& world;
};

class running final : public adding_case {
public:
    using adding_case::adding_case;
    asio::awaitable<void> operation() override {
        const auto add = [](mysql_connection& on) -> asio::awaitable<void> {
            auto adding = on.query("INSERT INTO t VALUES (?)", 1);
            co_await std::move(adding);
        };
        co_await world.shop().async_run(add);
    }
};

class asking final : public adding_case {
public:
    using adding_case::adding_case;
    asio::awaitable<void> operation() override {
        auto adding = world.shop().async_query(db::bound_sql("INSERT INTO t VALUES (?)", 1));
        co_await std::move(adding);
    }
};

/// A statement of a closure, cancelled without the transaction.
class asking_inside final : public adding_case {
public:
    using adding_case::adding_case;
    asio::awaitable<void> operation() override {
        const auto add = [](mysql_connection& on) -> asio::awaitable<void> {
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            auto adding = on.async_query(db::bound_sql("INSERT INTO t VALUES (?)", 1));
            co_await std::move(adding);
        };
        co_await world.shop().async_run(add, {.traced = false});
    }
};

class looking final : public sweep_case {
public:
    explicit looking(sweep_world& at) : world_(at) {}
    asio::awaitable<void> operation() override {
        auto looking_up = world_.shop().async_outcome(db::transaction_mark("77", {}));
        co_await std::move(looking_up);
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        EXPECT_EQ(world_.shop().stats().in_use, 0u);
    }

private:
    sweep_world& world_;
};

/// A transaction runs while the session is stopped.
class stopping final : public sweep_case {
public:
    explicit stopping(sweep_world& at) : world_(at), inside_(at.context.get_executor()) {
        const auto ask = [this](mysql_connection& on) -> asio::awaitable<void> {
            inside_.set();
            auto asking_one = on.query("SELECT 1");
            co_await std::move(asking_one);
        };
        world_.shop().async_run(ask, {}, [this](std::exception_ptr failure) {
            EXPECT_FALSE(failure);
            ran_ = true;
        });
    }
    asio::awaitable<void> operation() override {
        co_await inside_.async_wait();
        co_await world_.shop().async_stop();
        EXPECT_EQ(world_.shop().stats().in_use, 0u);
    }
    void check(const co_world::outcome& outcome) override {
        const auto code = outcome.code();
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
        EXPECT_TRUE(ran_) << "the transaction ends whether anybody waits for that or not";
        EXPECT_TRUE(code || world_.shop().stats().idle == 0u);
    }

private:
    sweep_world& world_;
    coro::event inside_;
    bool ran_ = false;
};

class MysqlSweep : public testing::TestWithParam<asio::cancellation_type> {
protected:
    template <class Case>
    std::size_t sweep(const std::string& function) {
        return cancel_sweep<sweep_world>(function, GetParam(), [](sweep_world& at) {
            return std::make_unique<Case>(at);
        });
    }
};

INSTANTIATE_TEST_SUITE_P(Types, MysqlSweep, testing::ValuesIn(cancellation_types), param_name());

TEST_P(MysqlSweep, ATransactionThatWasCancelledLeavesNothing) {
    EXPECT_GE(sweep<running>("mysql::async_run"), 10u);
}

TEST_P(MysqlSweep, AStatementByItselfThatWasCancelledLeavesNothing) {
    EXPECT_GE(sweep<asking>("mysql::async_query"), 10u);
}

TEST_P(MysqlSweep, AStatementOfAClosureThatWasCancelledLeavesNothing) {
    EXPECT_GE(sweep<asking_inside>("mysql_connection::async_query"), 10u);
}

TEST_P(MysqlSweep, AQuestionForAnOutcomeCanBeCancelled) {
    EXPECT_GE(sweep<looking>("mysql::async_outcome"), 10u);
}

TEST_P(MysqlSweep, AStopGoesOnWithoutTheOneWhoWaits) {
    EXPECT_GE(sweep<stopping>("mysql::async_stop"), 1u);
}

TEST(MysqlSweepDestroy, ATransactionThatWasDestroyedLeavesNothing) {
    mysql_party& party = sweep_world::party();
    party.run("CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)");
    bool ended = false;
    int step = 0;
    for (; !ended; ++step) {
        party.run("DELETE FROM t");
        {
            sweep_world world;
            const auto add = [](mysql_connection& on) -> asio::awaitable<void> {
                auto adding = on.query("INSERT INTO t VALUES (?)", 1);
                co_await std::move(adding);
            };
            world.shop().async_run(add, {}, [&](std::exception_ptr failure) {
                EXPECT_FALSE(failure);
                ended = true;
            });
            int handlers = 0;
            world.step_while([&] { return !ended && handlers++ < step; });
        }
        // The server may be about to commit.
        EXPECT_TRUE(eventually([&] { return party.is_alone(); }));
    }
    EXPECT_EQ(party.run("SELECT COUNT(*) FROM t"), "1");
    EXPECT_GE(step, 10);
}

}  // namespace
}  // namespace mortise::test
