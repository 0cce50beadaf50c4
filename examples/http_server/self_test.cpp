// SPDX-License-Identifier: BSL-1.0
#include "http_server/self_test.hpp"

#include "http_server/customer.hpp"
#include "http_server/program.hpp"
#include "http_server/server.hpp"
#include "http_server/shop.hpp"
#include "mortise/open_store.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/this_coro.hpp>

#include <csignal>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

namespace http_server {
namespace {

constexpr int lamps = 10;
constexpr int clients = 8;
constexpr int wishes_each = 3;

using tally = std::map<unsigned, int>;

asio::awaitable<void> want_lamps(const server& from, tally& answers) {
    customer self(co_await asio::this_coro::executor, from.address());
    for (int i = 0; i < wishes_each; ++i) {
        const response answer = co_await self.ask(http::verb::post, "/buy/lamp");
        ++answers[answer.result_int()];
    }
}

asio::awaitable<void> storm(const server& one, const server& two) {
    const auto executor = co_await asio::this_coro::executor;
    mortise::coro::task_scope crowd(executor);
    tally answers;
    for (int i = 0; i < clients; ++i)
        crowd.spawn(want_lamps(i % 2 == 0 ? one : two, answers));
    co_await crowd.join();
    std::cout << clients * wishes_each << " wished for a lamp: " << answers[200] << " got one, "
              << answers[409] << " came too late\n";
}

asio::awaitable<void> look_around(const server& one, const server& two) {
    const auto executor = co_await asio::this_coro::executor;
    customer here(executor, one.address());
    customer there(executor, two.address());
    const response stock = co_await there.ask(http::verb::get, "/stock/lamp");
    const response strange = co_await there.ask(http::verb::post, "/buy/moon");
    std::cout << "in stock: " << stock.body() << "the moon: " << strange.result_int() << '\n';
    const std::string granted = "mortise_leases_granted_total";
    const response one_page = co_await here.ask(http::verb::get, "/metrics");
    const response other_page = co_await there.ask(http::verb::get, "/metrics");
    std::cout << "leases that the two servers took: "
              << counter_on(one_page.body(), granted) + counter_on(other_page.body(), granted)
              << '\n';
}

asio::awaitable<void> buy_vase(const server& from) {
    customer self(co_await asio::this_coro::executor, from.address());
    const response answer = co_await self.ask(http::verb::post, "/buy/vase");
    std::cout << "SIGTERM came during a purchase: " << answer.result_int() << ", "
              << (answer.keep_alive() ? "keep-alive" : "close") << '\n';
}

/// Sends the signal while a purchase is under way.
asio::awaitable<void> terminate(const server& one) {
    const auto executor = co_await asio::this_coro::executor;
    customer self(executor, one.address());
    mortise::coro::task_scope scope(executor);
    scope.spawn(buy_vase(one));
    const auto bought = [](const std::string& page) {
        return counter_on(page, "mortise_leases_held") > 0;
    };
    co_await self.await_page("/metrics", bought);
    if (std::raise(SIGTERM) != 0)
        throw std::runtime_error("no signal can be sent");
    co_await scope.join();
}

asio::awaitable<void> look_at_store(mortise::lock_client& locks) {
    const auto left = co_await locks.async_list("", 10, 10);
    std::cout << "locks that are held or wanted afterwards: " << left.size() << '\n';
    co_await locks.async_stop();
}

asio::awaitable<void> test(asio::any_io_executor executor) {
    const tcp::endpoint loopback(asio::ip::address_v4::loopback(), 0);
    shop first(executor, "shop-1");
    shop second(executor, "shop-2");
    co_await first.open();
    co_await second.open();
    co_await first.put_in_stock("lamp", lamps);
    co_await first.put_in_stock("vase", 1);
    server one(executor, first, loopback);
    server two(executor, second, loopback);
    mortise::coro::task_scope servers(executor);
    servers.spawn(one.run());
    servers.spawn(two.run());
    co_await storm(one, two);
    co_await look_around(one, two);
    co_await terminate(one);
    co_await servers.join();
    mortise::lock_client locks(executor, mortise::open_store("sqlite:locks.db"));
    co_await look_at_store(locks);
}

}  // namespace

void run_self_test(asio::io_context& context) {
    run(context, test(context.get_executor()));
}

}  // namespace http_server
