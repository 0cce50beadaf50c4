// SPDX-License-Identifier: BSL-1.0
// Statements that are cancelled at the server.
#include "support/eventually.hpp"
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
    config.connect_max = std::chrono::seconds(2);
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
    while (!inside && !end)
        still.context.run_one();
    ASSERT_TRUE(inside) << end->text;
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

}  // namespace
}  // namespace mortise::test
