// SPDX-License-Identifier: BSL-1.0
// A MariaDB or MySQL server for coroutines. A transaction is a coroutine on a connection of the
// session's pool; its values travel apart from its statements. One that the server undoes for the
// sake of another is repeated.
//
// It takes the URL of a database, in which it makes a table:
//     18_mysql_session mariadb://USER:PASSWORD@localhost/DATABASE
//
// Prints:
//     49 and 51 are left

#include "mortise/db/mysql.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
namespace db = mortise::db;

// The server commits these by themselves, so they belong into no transaction.
asio::awaitable<void> make_tables(db::mysql& shop) {
    co_await shop.query("CREATE TABLE IF NOT EXISTS stock(id BIGINT PRIMARY KEY,"
                        " left_over BIGINT NOT NULL CHECK(left_over >= 0))");
    co_await shop.query("DELETE FROM stock");
    co_await shop.query("INSERT INTO stock VALUES(?, ?), (?, ?)", 1, 60, 2, 50);
}

//[mysql_session
// One transaction, committed when the coroutine resumes. An exception rolls it back.
asio::awaitable<std::int64_t> sell(db::mysql& shop, std::int64_t id, std::int64_t count) {
    auto work = [id, count](db::mysql_connection& on) -> asio::awaitable<std::int64_t> {
        co_await on.query("UPDATE stock SET left_over = left_over - ? WHERE id = ?", count, id);
        const auto found = co_await on.query("SELECT left_over FROM stock WHERE id = ?", id);
        co_return found.first().integer("left_over");
    };
    co_return co_await shop.async_run(work);
}

// Locks two rows, each call in its own order. Two calls may lock each other out; the server then
// undoes one of them, and it runs again: the closure has no other effects.
asio::awaitable<void> move_one(db::mysql& shop, std::int64_t from, std::int64_t to) {
    auto work = [from, to](db::mysql_connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE stock SET left_over = left_over - 1 WHERE id = ?", from);
        co_await on.query("UPDATE stock SET left_over = left_over + 1 WHERE id = ?", to);
    };
    const db::transaction_options repeated{.attempts_max = 8};
    co_await shop.async_run(work, repeated);
}
//]

asio::awaitable<void> trade(db::mysql& shop) {
    co_await make_tables(shop);
    co_await sell(shop, 1, 10);
    co_await move_one(shop, 1, 2);
    const auto found = co_await shop.query("SELECT left_over FROM stock ORDER BY id");
    std::cout << found.rows[0].integer("left_over") << " and " << found.rows[1].integer("left_over")
              << " are left" << std::endl;
    co_await shop.async_stop();
}

void rethrow(const std::exception_ptr& thrown) {
    if (thrown)
        std::rethrow_exception(thrown);
}

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: 18_mysql_session mariadb://USER:PASSWORD@HOST/DATABASE\n";
        return 2;
    }
    try {
        asio::io_context context;
        db::mysql shop(context.get_executor(), db::parse_mysql_url(argv[1]));
        asio::co_spawn(context, trade(shop), &rethrow);
        context.run();
    } catch (const std::exception& failed) {
        std::cerr << failed.what() << std::endl;
        return 1;
    }
}
