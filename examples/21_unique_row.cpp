// SPDX-License-Identifier: BSL-1.0
// A lock that is a row: whoever inserts it has the lock, until it is given back or expires. It is
// the simplest lock for work that is more than one transaction. It has no queue and wakes nobody,
// and a holder that was paused does not notice that it is over: its writes need a fence, or use a
// `lock_client`, which has all of that.
//
// It sells from an SQLite file, or at the server that a URL names:
//     21_unique_row [postgresql://USER:PASSWORD@localhost/DATABASE | mariadb://...]
//
// Prints:
//     naive: 5 of 2 sold
//     with a unique row: 2 of 2 sold

#include "mortise/db/unique_row.hpp"
#include "oversell/shop.hpp"

using namespace oversell;
using namespace std::chrono_literals;

//[unique_row
template <class Session>
asio::awaitable<void> buy(Session& shop, std::string buyer, int& sold) {
    const db::unique_row till("till", buyer);
    auto token = co_await db::take_unique_row(shop, till, 30s);
    while (!token) {
        co_await think();  // nobody is told when the row is free
        token = co_await db::take_unique_row(shop, till, 30s);
    }
    const auto found = co_await run(shop, "SELECT amount FROM oversell_stock WHERE id = 1");
    const auto left = found.first().integer("amount");
    co_await think();
    if (left > 0) {
        co_await run(
            shop, "UPDATE oversell_stock SET amount = " + std::to_string(left - 1) + " WHERE id = 1"
        );
        ++sold;
    }
    co_await db::release_unique_row(shop, till, *token);
}
//]

int main(int argc, char** argv) {
    return run_example(argc, argv, [](auto& shop) -> asio::awaitable<void> {
        co_await db::make_unique_row_table(shop);
        co_await sell_out(shop, "naive", [](auto& from, meeting& others, int& sold) {
            return buy_naively(from, others, sold);
        });
        int number = 0;
        co_await sell_out(shop, "with a unique row", [&number](auto& from, meeting&, int& sold) {
            return buy(from, "buyer " + std::to_string(++number), sold);
        });
    });
}
