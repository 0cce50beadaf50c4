// SPDX-License-Identifier: BSL-1.0
// A database for coroutines. Work that arrives at the same time shares one commit, and each
// coroutine resumes when its own work is on the disk. This needs no lock. Nor does changing a row
// that somebody else may change meanwhile.
//
// Prints:
//     N left, and N to be seen

#include "mortise/db/optimistic.hpp"
#include "mortise/db/sqlite.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
namespace db = mortise::db;
using namespace std::chrono_literals;

void make_tables(db::connection& on) {
    on.run("CREATE TABLE IF NOT EXISTS stock(id INTEGER PRIMARY KEY, left INTEGER NOT NULL"
           " CHECK(left >= 0), price INTEGER NOT NULL, version INTEGER NOT NULL)");
    on.run("INSERT OR REPLACE INTO stock VALUES(42, 100, 250, 0)");
}

/// A supplier whose answer takes a while.
asio::awaitable<std::int64_t> ask_supplier(std::int64_t price) {
    asio::steady_timer timer(co_await asio::this_coro::executor, 20ms);
    co_await timer.async_wait(asio::deferred);
    co_return price + 10;
}

//[db_session
// One transaction, on the disk when the coroutine resumes. It fails if nothing is left.
asio::awaitable<std::int64_t> sell(db::sqlite& shop, std::int64_t id) {
    co_return co_await shop.async_run([id](db::connection& on) {
        on.run("UPDATE stock SET left = left - 1, version = version + 1 WHERE id = ?", id);
        auto row = on.query("SELECT left FROM stock WHERE id = ?", id);
        return row.step() ? row.integer(0) : 0;
    });
}

// Reads on another connection: it waits for no commit.
asio::awaitable<std::int64_t> look(db::sqlite& shop, std::int64_t id) {
    co_return co_await shop.async_read([id](db::connection& on) {
        auto row = on.query("SELECT left FROM stock WHERE id = ?", id);
        return row.step() ? row.integer(0) : 0;
    });
}

// Reads, thinks, and writes unless somebody was faster; then it tries again.
asio::awaitable<void> reprice(db::sqlite& shop, std::int64_t id) {
    const db::versioned_row item("stock", id);
    co_await db::optimistic_update(
        shop,
        item,
        {.attempts_max = 8},
        [](db::row& stock) -> asio::awaitable<void> {
            const auto price = co_await ask_supplier(stock.integer("price"));
            stock.set("price", price);
        }
    );
}
//]

asio::awaitable<void> trade(db::sqlite& shop) {
    co_await shop.async_run(&make_tables);
    const auto left = co_await sell(shop, 42);
    co_await reprice(shop, 42);
    std::cout << left << " left, and " << co_await look(shop, 42) << " to be seen" << std::endl;
    co_await shop.async_stop();
}

void rethrow(const std::exception_ptr& thrown) {
    if (thrown)
        std::rethrow_exception(thrown);
}

int main() {
    asio::io_context context;
    db::sqlite_config config;
    config.path = "shop.db";
    db::sqlite shop(context.get_executor(), config);
    asio::co_spawn(context, trade(shop), rethrow);
    context.run();
}
