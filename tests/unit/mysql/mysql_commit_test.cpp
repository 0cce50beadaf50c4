// SPDX-License-Identifier: BSL-1.0
// Commits whose answer is lost on the way, and how their outcome is found.
#include "unit/mysql/mysql_party.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::test {
namespace {

using db::mysql_connection;
using db::transaction_outcome;
using tcp = asio::ip::tcp;

/// Passes on what client and server say, and can end a connection at its COMMIT.
class commit_proxy {
public:
    enum class deed {
        pass,
        cut_before,  ///< The server does not get the COMMIT.
        cut_after,   ///< The server gets it, and its answer is dropped.
        hold,        ///< The server does not get it yet; the client's end is cut.
    };

    commit_proxy(asio::io_context& context, std::uint16_t server)
        : server_(asio::ip::address_v4::loopback(), server),
          acceptor_(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
        asio::co_spawn(context, accept(), asio::detached);
    }

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

    deed next = deed::pass;  ///< For all that follow.

private:
    struct pair {
        explicit pair(const asio::any_io_executor& executor) : client(executor), server(executor) {}

        tcp::socket client;
        tcp::socket server;
    };

    asio::awaitable<void> accept() {
        const auto executor = co_await asio::this_coro::executor;
        for (;;) {
            const auto ends = std::make_shared<pair>(executor);
            co_await acceptor_.async_accept(ends->client, asio::deferred);
            co_await ends->server.async_connect(server_, asio::deferred);
            asio::co_spawn(executor, to_server(ends), asio::detached);
            asio::co_spawn(executor, to_client(ends), asio::detached);
        }
    }

    asio::awaitable<void> to_server(std::shared_ptr<pair> ends) {
        std::array<char, 65536> bytes{};
        try {
            for (;;) {
                const auto size = co_await ends->client.async_read_some(asio::buffer(bytes));
                const std::string_view text(bytes.data(), size);
                const auto found =
                    text.find("COMMIT") == std::string_view::npos ? deed::pass : next;
                if (found == deed::cut_before)
                    break;
                if (found == deed::hold) {
                    kept_ = ends;  // the server sees an idle connection
                    ends->client.close();
                    co_return;
                }
                if (found == deed::cut_after)
                    ends->client.close();
                co_await asio::async_write(ends->server, asio::buffer(bytes, size));
            }
        } catch (const boost::system::system_error&) {
            // one end is gone; so is the other
        }
        boost::system::error_code ignored;
        ends->client.close(ignored);
        if (next != deed::cut_after)
            ends->server.close(ignored);
    }

    static asio::awaitable<void> to_client(std::shared_ptr<pair> ends) {
        std::array<char, 65536> bytes{};
        try {
            for (;;) {
                const auto size = co_await ends->server.async_read_some(asio::buffer(bytes));
                co_await asio::async_write(ends->client, asio::buffer(bytes, size));
            }
        } catch (const boost::system::system_error&) {
            // one end is gone
        }
    }

    const tcp::endpoint server_;
    tcp::acceptor acceptor_;
    std::shared_ptr<pair> kept_;
};

class MysqlCommit : public testing::Test {
protected:
    MysqlCommit() { party.run("CREATE TABLE t (id INT PRIMARY KEY)"); }

    db::mysql_config config() const {
        auto config = party.config();
        config.port = proxy.port();
        config.outcome_table = "outcome";
        return config;
    }

    /// A transaction that adds a row. @return the mark of a commit that was lost.
    std::optional<db::transaction_mark> add(db::mysql& shop, commit_proxy::deed at_commit) {
        const auto adding = [&](mysql_connection& on) -> asio::awaitable<void> {
            auto inserting = on.query("INSERT INTO t VALUES (1)");
            co_await std::move(inserting);
            proxy.next = at_commit;
        };
        std::optional<db::transaction_mark> mark;
        party.finish([&]() -> asio::awaitable<void> {
            try {
                co_await shop.async_run(adding);
            } catch (const db::lost_commit& lost) {
                EXPECT_EQ(lost.code(), errc::commit_unknown);
                mark = lost.mark();
            }
        });
        proxy.next = commit_proxy::deed::pass;
        return mark;
    }

    transaction_outcome outcome(db::mysql& shop, const db::transaction_mark& mark) {
        auto result = transaction_outcome::unknown;
        party.finish([&]() -> asio::awaitable<void> {
            result = co_await shop.async_outcome(mark);
        });
        return result;
    }

    std::string rows() const { return party.run("SELECT COUNT(*) FROM t"); }

    mysql_party party;
    commit_proxy proxy{party.context, party.server.port()};
};

TEST_F(MysqlCommit, OfATransactionThatOnlyReadsIsNeverUnknown) {
    auto shop = party.open(config());
    const auto count = [&](mysql_connection& on) -> asio::awaitable<std::int64_t> {
        auto counting = on.query("SELECT COUNT(*) FROM t");
        const auto found = co_await std::move(counting);
        proxy.next = commit_proxy::deed::cut_after;
        co_return found.first().integer(0);
    };
    party.finish([&]() -> asio::awaitable<void> {
        EXPECT_EQ(co_await shop.async_run(count, {.read_only = true}), 0);
    });
    EXPECT_EQ(shop.stats().commits_unknown, 0u);
    EXPECT_EQ(shop.stats().idle, 0u);
}

TEST_F(MysqlCommit, OfATransactionWithoutATraceHasNoMark) {
    auto untraced = config();
    untraced.outcome_table.clear();
    auto shop = party.open(untraced);
    const auto mark = add(shop, commit_proxy::deed::cut_after);
    ASSERT_TRUE(mark);
    EXPECT_TRUE(mark->empty());
    ended_with ended;
    party.finish([&]() -> asio::awaitable<void> {
        ended = co_await end_of(shop.async_outcome(db::transaction_mark("1", {})));
    });
    EXPECT_EQ(ended.code, errc::bad_config) << ended.text;
}

TEST_F(MysqlCommit, IsTracedByOneRowOnlyIfItMayWrite) {
    auto shop = party.open(config());
    std::string number;
    const auto look = [&](mysql_connection& on) -> asio::awaitable<void> {
        number = on.mark().number;
        co_return;
    };
    party.finish([&]() -> asio::awaitable<void> {
        co_await shop.async_run(look);
        EXPECT_FALSE(number.empty());
        co_await shop.async_run(look, {.read_only = true});
        EXPECT_TRUE(number.empty());
        co_await shop.async_run(look, {.traced = false});
        EXPECT_TRUE(number.empty());
    });
    EXPECT_EQ(party.run("SELECT COUNT(*) FROM outcome"), "1");
}

TEST_F(MysqlCommit, RowsOfOutcomesAreRemovedWhenTheyAreOld) {
    auto settings = party.config();
    settings.outcome_table = "outcome";
    settings.outcome_age_max = std::chrono::hours(1);
    auto shop = party.open(settings);
    db::transaction_mark fresh;
    const auto look = [&](mysql_connection& on) -> asio::awaitable<void> {
        fresh = on.mark();
        co_return;
    };
    const auto run = [&](int count) {
        party.finish([&, count]() -> asio::awaitable<void> {
            for (int i = 0; i < count; ++i)
                co_await shop.async_run(look);
        });
    };
    run(1);
    party.run("INSERT INTO outcome VALUES (5, 1, NOW() - INTERVAL 2 HOUR)");
    const auto old = party.run("SELECT UNIX_TIMESTAMP() - 7200");
    EXPECT_EQ(outcome(shop, db::transaction_mark("5", old)), transaction_outcome::unknown);
    run(256);
    EXPECT_EQ(party.run("SELECT COUNT(*) FROM outcome WHERE number = 5"), "0");
    EXPECT_EQ(party.run("SELECT COUNT(*) FROM outcome"), "257");
    EXPECT_EQ(outcome(shop, fresh), transaction_outcome::committed);
}

}  // namespace
}  // namespace mortise::test
