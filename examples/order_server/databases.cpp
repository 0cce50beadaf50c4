// SPDX-License-Identifier: BSL-1.0
#include "order_server/databases.hpp"

#include "order_server/order_book.hpp"
#include "order_server/shipping.hpp"
#include "order_server/stock.hpp"
#include "order_server/wallets.hpp"

#include <utility>

namespace order_server {
namespace {

namespace db = mortise::db;

databases::session_ptr open_database(const asio::any_io_executor& executor, const char* file) {
    db::sqlite_config config;
    config.path = file;
    return std::make_shared<db::sqlite>(executor, std::move(config));
}

}  // namespace

databases::databases(const asio::any_io_executor& executor)
    : shop(open_database(executor, "shop.db")),
      wallets(open_database(executor, "wallets.db")),
      shippers(open_database(executor, "shippers.db")) {}

asio::awaitable<void> databases::open() {
    co_await shop->async_run([](db::connection& on) {
        stock::make_table(on);
        order_book::make_table(on);
    });
    co_await wallets->async_run(&wallets::make_tables);
    co_await shippers->async_run(&shipping::make_tables);
}

asio::awaitable<void> databases::stop() {
    co_await shop->async_stop();
    co_await wallets->async_stop();
    co_await shippers->async_stop();
}

asio::awaitable<void> databases::put_in_stock(std::string item, std::int64_t euros, int count) {
    co_await shop->async_run([&item, euros, count](db::connection& on) {
        stock::put(on, item, euros, count);
    });
}

asio::awaitable<void> databases::enrol(std::string buyer, std::int64_t euros, std::string address) {
    co_await wallets->async_run([&buyer, euros](db::connection& on) {
        wallets::open(on, buyer, euros);
    });
    if (address.empty())
        co_return;
    co_await shippers->async_run([&buyer, &address](db::connection& on) {
        shipping::note_address(on, buyer, address);
    });
}

}  // namespace order_server
