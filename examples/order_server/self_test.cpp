// SPDX-License-Identifier: BSL-1.0
#include "order_server/self_test.hpp"

#include "http_server/server.hpp"
#include "mortise/open_store.hpp"
#include "order_server/databases.hpp"
#include "order_server/desk.hpp"
#include "order_server/wish.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace order_server {
namespace {

namespace db = mortise::db;
using http_server::customer;
using http_server::server;
using http_server::tcp;
using wishes = std::deque<wish>;

constexpr int copies = 2;  // of each message
constexpr int buyers = 16;
constexpr int strangers = 3;  // without an address
constexpr int price = 10;

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

// Prints only where the money is.
asio::awaitable<void> print_money(databases& from) {
    std::cout << co_await from.wallets->async_read(&money_line);
}

// Prints the contents of the databases on a few lines of the standard output.
asio::awaitable<void> print_account(databases& from) {
    std::cout << co_await from.shop->async_read(&shop_lines);
    std::cout << co_await from.shippers->async_read(&shipping_line);
    co_await print_money(from);
}

std::string buyer(int number) {
    return "buyer-" + std::to_string(number);
}

std::string stranger(int number) {
    return "stranger-" + std::to_string(number);
}

asio::awaitable<void> furnish(databases& books) {
    co_await books.put_in_stock("lamp", price, 10);
    co_await books.put_in_stock("piano", 100 * price, 1);
    co_await books.put_in_stock("vase", price, 4);
    for (int i = 0; i < buyers; ++i)
        co_await books.enrol(buyer(i), 2 * price, "The Street " + std::to_string(i));
    for (int i = 0; i < strangers; ++i)
        co_await books.enrol(stranger(i), 2 * price, "");
}

asio::awaitable<void> send_twice(tcp::endpoint where, wish& one) {
    customer self(co_await asio::this_coro::executor, where);
    co_await one.send(self);
    co_await one.send(self);
}

int count(const wishes& all, unsigned status) {
    return static_cast<int>(std::count_if(all.begin(), all.end(), [status](const wish& each) {
        return each.status() == status;
    }));
}

int count_differing(const wishes& all) {
    int sum = 0;
    for (const wish& each : all)
        sum += each.differing();
    return sum;
}

/// Sends all wishes at the same time, each of them twice.
asio::awaitable<void> storm(tcp::endpoint where, wishes& all) {
    mortise::coro::task_scope crowd(co_await asio::this_coro::executor);
    for (wish& each : all)
        crowd.spawn(send_twice(where, each));
    co_await crowd.join();
}

asio::awaitable<void> ask_oddly(tcp::endpoint where) {
    customer self(co_await asio::this_coro::executor, where);
    wish no_key(buyer(0), "lamp", "");
    wish no_item(buyer(0), "moon", "odd-1");
    wish no_money(buyer(0), "piano", "odd-2");
    wish used_key(buyer(0), "vase", "odd-2");
    for (wish* each : {&no_key, &no_item, &no_money, &used_key})
        co_await each->send(self);
    std::cout << "no key: " << no_key.status() << ", no such item: " << no_item.status()
              << ", no money: " << no_money.status()
              << ", a key of another order: " << used_key.status() << '\n';
}

/// Waits until each order is shipped or taken back.
asio::awaitable<void> await_shippers(tcp::endpoint where, const wishes& all) {
    customer self(co_await asio::this_coro::executor, where);
    const auto ended = [](const std::string& page) {
        return page.find("shipped") != page.npos || page.find("taken back") != page.npos;
    };
    for (const wish& each : all) {
        if (each.status() == 201)
            co_await self.await_page(each.page(), ended);
    }
}

asio::awaitable<void> await_waiter(mortise::lock_client& locks, std::string name) {
    asio::steady_timer timer(locks.get_executor());
    for (;;) {
        const auto found = co_await locks.async_inspect(name, 1);
        if (found && found->waiter_count > 0)
            co_return;
        timer.expires_after(std::chrono::milliseconds(1));
        co_await timer.async_wait(asio::deferred);
    }
}

/// Sends the signal while an order waits for the lock of its item.
asio::awaitable<void> terminate(tcp::endpoint where, mortise::lock_client& locks, wish& late) {
    const auto executor = co_await asio::this_coro::executor;
    auto held = co_await locks.async_acquire("item/vase");
    customer self(executor, where);
    customer idle(executor, where);
    co_await idle.ask(http_server::http::verb::get, "/metrics");  // to be accepted
    mortise::coro::task_scope scope(executor);
    scope.spawn(late.send(self));
    co_await await_waiter(locks, "item/vase");
    if (std::raise(SIGTERM) != 0)
        throw std::runtime_error("no signal can be sent");
    co_await idle.hung_up();
    co_await held.async_release();
    co_await scope.join();
    std::cout << "SIGTERM came during an order: " << late.status() << ", "
              << (late.answer().keep_alive() ? "keep-alive" : "close") << '\n';
}

/// Runs `scene` beside a server, from the server's start to its end.
template <class Scene>
asio::awaitable<void> open_while(Scene scene) {
    const auto executor = co_await asio::this_coro::executor;
    shop goods(executor);
    co_await goods.open(copies);
    co_await furnish(goods.books());
    desk front(goods);
    server door(executor, front, {asio::ip::address_v4::loopback(), 0});
    mortise::coro::task_scope scope(executor);
    scope.spawn(door.run());
    co_await scene(door.address(), goods.books());
    co_await scope.join();
}

}  // namespace

asio::awaitable<void> test() {
    const auto executor = co_await asio::this_coro::executor;
    mortise::lock_client locks(executor, mortise::open_store("sqlite:locks.db"));
    wishes crowd;
    for (int i = 0; i < buyers; ++i)
        crowd.emplace_back(buyer(i), "lamp", "first");
    wishes others;
    for (int i = 0; i < strangers; ++i)
        others.emplace_back(stranger(i), "vase", "first");
    wishes last;
    last.emplace_back(buyer(0), "vase", "last");

    const auto first_day = [&](tcp::endpoint where, databases& books) -> asio::awaitable<void> {
        co_await print_money(books);
        co_await storm(where, crowd);
        co_await storm(where, others);
        std::cout << crowd.size() << " wanted a lamp: " << count(crowd, 201) << " ordered it, "
                  << count(crowd, 409) << " came too late\n"
                  << others.size() << " without an address wanted a vase: " << count(others, 201)
                  << " ordered it\n";
        co_await ask_oddly(where);
        co_await await_shippers(where, crowd);
        co_await terminate(where, locks, last.front());
    };
    co_await open_while(first_day);

    const auto second_day = [&](tcp::endpoint where, databases&) -> asio::awaitable<void> {
        for (wishes* each : {&crowd, &others, &last}) {
            co_await storm(where, *each);
            co_await await_shippers(where, *each);
        }
        std::cout << "all asked again and again, also after a restart: "
                  << count_differing(crowd) + count_differing(others) + count_differing(last)
                  << " heard something else\n";
        if (std::raise(SIGTERM) != 0)
            throw std::runtime_error("no signal can be sent");
    };
    co_await open_while(second_day);

    databases books(executor);
    co_await print_account(books);
    co_await books.stop();
    const auto left = co_await locks.async_list("", 10, 10);
    std::cout << "locks that are held or wanted afterwards: " << left.size() << '\n';
    co_await locks.async_stop();
}

}  // namespace order_server
