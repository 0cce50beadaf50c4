// SPDX-License-Identifier: BSL-1.0
// What the examples 19 to 21 share: a stock of two items, five buyers who all come at once, and a
// naive way to sell, which reads, thinks and writes.
#ifndef OVERSELL_SHOP_HPP
#define OVERSELL_SHOP_HPP

#include "mortise/coro/event.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/db/sqlite.hpp"
#if OVERSELL_WITH_MYSQL
#include "mortise/db/mysql.hpp"
#endif
#if OVERSELL_WITH_POSTGRES
#include "mortise/db/postgres.hpp"
#endif

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace oversell {

namespace asio = boost::asio;
namespace db = mortise::db;

constexpr int items = 2;
constexpr int buyers = 5;

/// One statement, in a transaction of its own.
inline asio::awaitable<db::query_result> run(db::sqlite& shop, std::string text) {
    const db::bound_sql statement(std::move(text));
    auto work = [&statement](db::connection& on) { return on.run(statement); };
    co_return co_await shop.async_run(work);
}
template <class Server>
asio::awaitable<db::query_result> run(Server& shop, std::string text) {
    auto work = [&text](auto& on) -> asio::awaitable<db::query_result> {
        co_return co_await on.query(text);
    };
    co_return co_await shop.async_run(work);
}

template <class Session>
asio::awaitable<void> stock_up(Session& shop) {
    const std::string table = "CREATE TABLE IF NOT EXISTS oversell_stock(id BIGINT PRIMARY KEY,"
                              " amount BIGINT NOT NULL, version BIGINT NOT NULL)";
    // A server of MySQL commits this by itself, so it is refused in a transaction.
    if constexpr (requires { shop.query(table); })
        co_await shop.query(table);
    else
        co_await run(shop, table);
    co_await run(shop, "DELETE FROM oversell_stock");
    co_await run(shop, "INSERT INTO oversell_stock VALUES(1, " + std::to_string(items) + ", 0)");
}

/// Lets nobody go on before all buyers are there: the worst moment, which comes sooner or later.
class meeting {
public:
    explicit meeting(asio::any_io_executor executor) : all_(std::move(executor)) {}

    asio::awaitable<void> wait() {
        if (++here_ == buyers)
            all_.set();
        co_await all_.async_wait();
    }

private:
    mortise::coro::event all_;
    int here_ = 0;
};

/// Something that takes a while, such as asking for the payment.
inline asio::awaitable<void> think() {
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(5));
    co_await timer.async_wait(asio::deferred);
}

/// Sells without any care: between the read and the write, others read, too.
template <class Session>
asio::awaitable<void> buy_naively(Session& shop, meeting& others, int& sold) {
    const auto found = co_await run(shop, "SELECT amount FROM oversell_stock WHERE id = 1");
    const auto left = found.first().integer("amount");
    co_await others.wait();
    if (left == 0)
        co_return;
    co_await run(
        shop, "UPDATE oversell_stock SET amount = " + std::to_string(left - 1) + " WHERE id = 1"
    );
    ++sold;
}

/// Stocks up, lets all buyers come at once, and prints how many of them got something.
/// `buy(shop, others, sold)` is a coroutine.
template <class Session, class Buy>
asio::awaitable<void> sell_out(Session& shop, std::string way, Buy buy) {
    co_await stock_up(shop);
    const auto executor = co_await asio::this_coro::executor;
    meeting others(executor);
    int sold = 0;
    mortise::coro::task_scope crowd(executor);
    for (int i = 0; i < buyers; ++i)
        crowd.spawn(buy(shop, others, sold));
    co_await crowd.join();
    std::cout << way << ": " << sold << " of " << items << " sold" << std::endl;
}

/// Opens the database that the URL names, else an SQLite file, and does `trade(session)` with it.
template <class Trade>
int run_example(int argc, char** argv, Trade trade) try {
    asio::io_context context;
    const auto finish = [&](auto shop) {
        auto task = [&]() -> asio::awaitable<void> {
            co_await trade(shop);
            co_await shop.async_stop();
        };
        asio::co_spawn(context, task(), [](const std::exception_ptr& thrown) {
            if (thrown)
                std::rethrow_exception(thrown);
        });
        context.run();
        return 0;
    };
    const std::string url = argc > 1 ? argv[1] : "";
    if (url.empty()) {
        db::sqlite_config config;
        config.path = "shop.db";
        return finish(db::sqlite(context.get_executor(), config));
    }
#if OVERSELL_WITH_POSTGRES
    if (url.starts_with("postgres"))
        return finish(db::postgres(context.get_executor(), db::parse_postgres_url(url)));
#endif
#if OVERSELL_WITH_MYSQL
    if (url.starts_with("mysql") || url.starts_with("mariadb"))
        return finish(db::mysql(context.get_executor(), db::parse_mysql_url(url)));
#endif
    std::cerr << "usage: " << argv[0] << " [URL], postgresql:// or mariadb://, if built with it\n";
    return 2;
} catch (const std::exception& failed) {
    std::cerr << failed.what() << std::endl;
    return 1;
}

}  // namespace oversell

#endif
