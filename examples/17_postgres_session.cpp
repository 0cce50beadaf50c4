// SPDX-License-Identifier: BSL-1.0
// A PostgreSQL server for coroutines. A transaction is a coroutine on a connection of the session's
// pool; its values travel apart from its statements. One that reads before it writes is repeated
// when the server finds that another came ahead.
//
// It takes the URL of a database, in which it makes a table:
//     17_postgres_session postgresql://USER:PASSWORD@localhost/DATABASE
//
// Prints:
//     30 and 70 are left

#include "mortise/db/postgres.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
namespace db = mortise::db;

asio::awaitable<void> make_tables(db::postgres_connection& on) {
    co_await on.query("CREATE TABLE IF NOT EXISTS stock(id bigint PRIMARY KEY,"
                      " left_over bigint NOT NULL CHECK(left_over >= 0))");
    co_await on.query("DELETE FROM stock");
    co_await on.query("INSERT INTO stock VALUES($1, $2), ($3, $4)", 1, 60, 2, 50);
}

//[postgres_session
// One transaction, committed when the coroutine resumes. An exception rolls it back.
asio::awaitable<std::int64_t> sell(db::postgres& shop, std::int64_t id, std::int64_t count) {
    auto work = [id, count](db::postgres_connection& on) -> asio::awaitable<std::int64_t> {
        const auto sold = co_await on.query(
            "UPDATE stock SET left_over = left_over - $1 WHERE id = $2 RETURNING left_over",
            count,
            id
        );
        co_return sold.first().integer("left_over");
    };
    co_return co_await shop.async_run(work);
}

// Reads and writes by what it has read. If another transaction came ahead, the server undoes this
// one, and it runs again: the closure has no other effects.
asio::awaitable<void> take_half(db::postgres& shop, std::int64_t from, std::int64_t to) {
    auto work = [from, to](db::postgres_connection& on) -> asio::awaitable<void> {
        const auto found = co_await on.query("SELECT left_over FROM stock WHERE id = $1", from);
        const auto half = found.first().integer("left_over") / 2;
        co_await on.query("UPDATE stock SET left_over = left_over - $1 WHERE id = $2", half, from);
        co_await on.query("UPDATE stock SET left_over = left_over + $1 WHERE id = $2", half, to);
    };
    const db::transaction_options repeated{.level = db::isolation::serializable, .attempts_max = 8};
    co_await shop.async_run(work, repeated);
}
//]

asio::awaitable<void> trade(db::postgres& shop) {
    co_await shop.async_run(&make_tables);
    co_await sell(shop, 2, 10);
    co_await take_half(shop, 1, 2);
    auto look = [](db::postgres_connection& on) -> asio::awaitable<db::query_result> {
        co_return co_await on.query("SELECT left_over FROM stock ORDER BY id");
    };
    const auto found = co_await shop.async_run(look, {.read_only = true});
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
        std::cerr << "usage: 17_postgres_session postgresql://USER:PASSWORD@HOST/DATABASE\n";
        return 2;
    }
    asio::io_context context;
    db::postgres shop(context.get_executor(), db::parse_postgres_url(argv[1]));
    asio::co_spawn(context, trade(shop), rethrow);
    context.run();
}
