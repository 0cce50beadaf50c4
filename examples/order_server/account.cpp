// SPDX-License-Identifier: BSL-1.0
#include "order_server/account.hpp"

#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

namespace order_server {
namespace {

namespace db = mortise::db;

std::int64_t number_of(db::connection& on, const char* sql) {
    auto row = on.query(sql);
    row.step();
    return row.integer(0);
}

std::string shop_lines(db::connection& on) {
    std::ostringstream to;
    to << "item   there were  free  reserved  sold\n";
    auto row = on.query("SELECT name, free + reserved + sold, free, reserved, sold FROM item"
                        " ORDER BY name");
    while (row.step()) {
        to << std::left << std::setw(6) << row.text(0) << std::right << std::setw(11)
           << row.integer(1) << std::setw(6) << row.integer(2) << std::setw(10) << row.integer(3)
           << std::setw(6) << row.integer(4) << '\n';
    }
    to << "orders: "
       << number_of(on, "SELECT count(*) FROM book WHERE state IN ('shipped', 'taken back')")
       << ", of which taken back: "
       << number_of(on, "SELECT count(*) FROM book WHERE state = 'taken back'") << ", open: "
       << number_of(on, "SELECT count(*) FROM book WHERE state IN ('pending', 'accepted')")
       << "\nanswers of the shippers that had an effect: "
       << number_of(on, "SELECT total(heard) FROM book")
       << ", to the same order: " << number_of(on, "SELECT count(*) FROM book WHERE heard > 1")
       << '\n';
    return to.str();
}

std::string shipping_line(db::connection& on) {
    const auto all = number_of(on, "SELECT count(*) FROM parcel");
    const auto different = number_of(on, "SELECT count(DISTINCT number) FROM parcel");
    return "parcels: " + std::to_string(all) +
           ", for the same order: " + std::to_string(all - different) + '\n';
}

std::string money_line(db::connection& on) {
    const auto till = number_of(on, "SELECT euros FROM till");
    const auto free = number_of(on, "SELECT sum(free) FROM wallet");
    const auto reserved = number_of(on, "SELECT sum(reserved) FROM wallet");
    return "euros in the till: " + std::to_string(till) + ", in wallets: " + std::to_string(free) +
           ", reserved: " + std::to_string(reserved) +
           ", together: " + std::to_string(till + free + reserved) + '\n';
}

}  // namespace

asio::awaitable<void> print_account(databases& from) {
    std::cout << co_await from.shop->async_read(&shop_lines);
    std::cout << co_await from.shippers->async_read(&shipping_line);
    co_await print_money(from);
}

asio::awaitable<void> print_money(databases& from) {
    std::cout << co_await from.wallets->async_read(&money_line);
}

}  // namespace order_server
