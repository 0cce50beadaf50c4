// SPDX-License-Identifier: BSL-1.0
// Connections that end, and servers that stop, restart and stand still.
#include "support/eventually.hpp"
#include "unit/mysql/mysql_party.hpp"

#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace mortise::test {
namespace {

using db::mysql_connection;

class MysqlFault : public testing::Test {
protected:
    MysqlFault() {
        party.run("CREATE TABLE stock (id INT PRIMARY KEY, amount INT NOT NULL)");
        party.run("INSERT INTO stock VALUES (1, 10)");
    }

    void end_connection(std::uint32_t id) const {
        party.run("KILL CONNECTION " + std::to_string(id));
        EXPECT_TRUE(eventually([&] { return !party.has(id); }));
    }

    /// A transaction that takes one item. @return the connection that it had.
    std::uint32_t sell(db::mysql& shop) {
        std::uint32_t connection = 0;
        const auto take = [&](mysql_connection& on) -> asio::awaitable<void> {
            connection = on.server_id();
            auto taking = on.query("UPDATE stock SET amount = amount - ? WHERE id = 1", 1);
            co_await std::move(taking);
        };
        party.finish([&]() -> asio::awaitable<void> { co_await shop.async_run(take); });
        return connection;
    }

    std::string amount() const { return party.run("SELECT amount FROM stock"); }

    mysql_party party;
};

TEST_F(MysqlFault, AKilledIdleConnectionIsReplacedUnnoticed) {
    auto config = party.config();
    config.check_after = std::chrono::hours(1);  // so that the transaction finds it out
    auto shop = party.open(config);
    const auto first = sell(shop);
    end_connection(first);
    const auto second = sell(shop);
    EXPECT_NE(first, second);
    EXPECT_EQ(amount(), "8");
}

TEST_F(MysqlFault, AConnectionThatWasIdleForLongIsCheckedFirst) {
    auto config = party.config();
    config.check_after = std::chrono::milliseconds(0);  // whatever it was
    auto shop = party.open(config);
    const auto first = sell(shop);
    end_connection(first);
    ended_with ended;
    party.finish([&]() -> asio::awaitable<void> {
        ended = co_await end_of(shop.query("UPDATE stock SET amount = 5 WHERE id = 1"));
    });
    EXPECT_FALSE(ended.code) << ended.text;
    EXPECT_EQ(amount(), "5");
}

TEST_F(MysqlFault, AServerThatHangsUpOnIdleConnectionsIsNoFault) {
    auto config = party.config();
    config.check_after = std::chrono::milliseconds(1);
    auto shop = party.open(config);
    std::uint32_t connection = 0;
    const auto be_impatient = [&](mysql_connection& on) -> asio::awaitable<void> {
        connection = on.server_id();
        auto setting = on.query("SET SESSION wait_timeout = 2");
        co_await std::move(setting);
    };
    party.finish([&]() -> asio::awaitable<void> { co_await shop.async_run(be_impatient); });
    EXPECT_TRUE(eventually([&] { return !party.has(connection); }));
    EXPECT_NE(sell(shop), connection);
    EXPECT_EQ(amount(), "9");
}

TEST_F(MysqlFault, AConnectionThatIsKilledDuringAStatementEndsIt) {
    auto shop = party.open();
    other_transaction other(party);
    other.run("SELECT * FROM stock FOR UPDATE");
    std::uint32_t connection = 0;
    const auto wait = [&](mysql_connection& on) -> asio::awaitable<void> {
        connection = on.server_id();
        auto taking = on.query("UPDATE stock SET amount = 0 WHERE id = 1");
        co_await std::move(taking);
    };
    std::optional<ended_with> ended;
    asio::co_spawn(
        party.context,
        [&]() -> asio::awaitable<void> { ended = co_await end_of(shop.async_run(wait)); },
        asio::detached
    );
    while (connection == 0)
        party.context.run_one();
    while (!party.waits())
        party.context.poll();
    party.run("KILL CONNECTION " + std::to_string(connection));
    while (!ended)
        party.context.run_one();
    EXPECT_EQ(ended->code, condition::retryable) << ended->text;
    EXPECT_EQ(amount(), "10");
}

TEST_F(MysqlFault, AConnectionThatIsKilledBeforeTheCommitLeavesItUnknown) {
    auto shop = party.open();
    const auto be_killed = [&](mysql_connection& on) -> asio::awaitable<void> {
        auto taking = on.query("UPDATE stock SET amount = 0 WHERE id = 1");
        co_await std::move(taking);
        end_connection(on.server_id());
    };
    ended_with ended;
    party.finish([&]() -> asio::awaitable<void> {
        ended = co_await end_of(shop.async_run(be_killed));
    });
    EXPECT_EQ(ended.code, errc::commit_unknown) << ended.text;
    EXPECT_EQ(shop.stats().commits_unknown, 1u);
    EXPECT_EQ(amount(), "10");
}

TEST(MysqlServer, StandsStillAndATransactionIsGivenUp) {
    mariadb_server server;
    mysql_party party(server);
    auto config = party.config();
    config.answer_max = std::chrono::seconds(1);
    config.connect_max = std::chrono::seconds(2);
    auto shop = party.open(config);
    const auto ask = [&](mysql_connection& on) -> asio::awaitable<void> {
        auto asking = on.query("SELECT 1");
        co_await std::move(asking);
        server.suspend();
    };
    ended_with ended;
    party.finish([&]() -> asio::awaitable<void> { ended = co_await end_of(shop.async_run(ask)); });
    EXPECT_EQ(ended.code, errc::commit_unknown) << ended.text;
    party.finish([&]() -> asio::awaitable<void> { ended = co_await end_of(shop.async_run(ask)); });
    EXPECT_EQ(ended.code, errc::store_unavailable) << ended.text;
    EXPECT_NE(ended.text.find("it does not greet in time"), std::string::npos) << ended.text;
    server.resume();
}

}  // namespace
}  // namespace mortise::test
