// SPDX-License-Identifier: BSL-1.0
// Many who change the same row, without a lock: each reads, thinks, and writes only if the version
// of the row is still the one that it read. Right where conflicts are rare, and where thinking
// takes long, since no transaction is open meanwhile.
//
// It sells from an SQLite file, or at the server that a URL names:
//     19_optimistic_update [postgresql://USER:PASSWORD@localhost/DATABASE | mariadb://...]
//
// Prints:
//     naive: 5 of 2 sold
//     with a version: 2 of 2 sold

#include "mortise/db/optimistic.hpp"
#include "oversell/shop.hpp"

using namespace oversell;

//[optimistic
template <class Session>
asio::awaitable<void> buy(Session& shop, int& sold) {
    const db::versioned_row item("oversell_stock", 1);
    const auto take_one = [](db::row& stock) -> asio::awaitable<bool> {
        const auto left = stock.integer("amount");
        if (left == 0)
            co_return false;
        co_await think();
        stock.set("amount", left - 1);
        co_return true;
    };
    if (co_await db::optimistic_update(shop, item, {.attempts_max = 100}, take_one))
        ++sold;
}
//]

int main(int argc, char** argv) {
    return run_example(argc, argv, [](auto& shop) -> asio::awaitable<void> {
        co_await sell_out(shop, "naive", [](auto& from, meeting& others, int& sold) {
            return buy_naively(from, others, sold);
        });
        co_await sell_out(shop, "with a version", [](auto& from, meeting&, int& sold) {
            return buy(from, sold);
        });
    });
}
