// SPDX-License-Identifier: BSL-1.0
// A row that is locked before it is read: whoever comes second waits until the first has committed.
// Right where conflicts are frequent, and the work between read and write is short.
//
// At a server, a transaction alone is not enough. SQLite has one writer at a time, so there a
// closure that reads and writes has the whole database to itself.
//
// It sells from an SQLite file, or at the server that a URL names:
//     20_row_locks [postgresql://USER:PASSWORD@localhost/DATABASE | mariadb://...]
//
// Prints:
//     naive: 5 of 2 sold
//     with a row lock: 2 of 2 sold

#include "mortise/db/row_locks.hpp"
#include "oversell/shop.hpp"

using namespace oversell;

std::string set_amount(std::int64_t left) {
    return "UPDATE oversell_stock SET amount = " + std::to_string(left) + " WHERE id = 1";
}

// Reads and writes in one transaction, and still sells too much: the read locks nothing.
template <class Server>
asio::awaitable<void> buy_in_a_transaction(Server& shop, meeting& others, int& sold) {
    auto work = [&](auto& on) -> asio::awaitable<void> {
        const auto found = co_await on.query("SELECT amount FROM oversell_stock WHERE id = 1");
        co_await others.wait();
        co_await on.query(set_amount(found.first().integer("amount") - 1));
        ++sold;
    };
    co_await shop.async_run(work, {.level = db::isolation::read_committed});
}

//[row_lock
template <class Server>
asio::awaitable<void> buy(Server& shop, int& sold) {
    auto work = [&sold](auto& on) -> asio::awaitable<void> {
        const db::row stock = co_await db::lock_row(on, db::table_row("oversell_stock", 1));
        const auto left = stock.integer("amount");
        if (left == 0)
            co_return;
        co_await think();
        co_await on.query(set_amount(left - 1));
        ++sold;
    };
    co_await shop.async_run(work);
}

// A closure that writes has the database of SQLite to itself, and so waits for nothing inside.
asio::awaitable<void> buy(db::sqlite& shop, int& sold) {
    auto work = [](db::connection& on) {
        auto stock = on.query("SELECT amount FROM oversell_stock WHERE id = 1");
        const bool any = stock.step() && stock.integer(0) > 0;
        if (any)
            on.run(set_amount(stock.integer(0) - 1));
        return any;
    };
    if (co_await shop.async_run(work))
        ++sold;
}
//]

int main(int argc, char** argv) {
    return run_example(argc, argv, [](auto& shop) -> asio::awaitable<void> {
        co_await sell_out(shop, "naive", [](auto& from, meeting& others, int& sold) {
            if constexpr (std::is_same_v<decltype(from), db::sqlite&>)
                return buy_naively(from, others, sold);
            else
                return buy_in_a_transaction(from, others, sold);
        });
        co_await sell_out(shop, "with a row lock", [](auto& from, meeting&, int& sold) {
            return buy(from, sold);
        });
    });
}
