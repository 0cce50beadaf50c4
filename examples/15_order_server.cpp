// SPDX-License-Identifier: BSL-1.0
// A server that takes orders: it sells an item from the stock for money from a wallet, and has it
// shipped. The example shows all that this needs. A lock protects each item. A transaction spans
// stock and wallets, which are separate databases. The message to the shippers is written with the
// order, and has its effect once. If the shippers refuse an order, for want of an address, it is
// taken back.
//
// A client that asks again with the same key gets the same answer, and nothing happens twice: after
// a broken connection, after a restart, after `kill -9`. Several servers may run in the same
// folder, each on its own port.
//
//     15_order_server [PORT]         serves the present folder's databases, on port 8080
//     15_order_server --self-test    a server, its end, the next one, and clients for them
//
//     curl -i -X POST localhost:8080/orders/lamp -H 'Buyer: ann' -H 'Idempotency-Key: 1'
//     curl localhost:8080/orders/1
//     curl localhost:8080/metrics
//
// What the self-test prints:
//
// Prints:
//     euros in the till: 0, in wallets: 380, reserved: 0, together: 380
//     16 wanted a lamp: 10 ordered it, 6 came too late
//     3 without an address wanted a vase: 3 ordered it
//     no key: 400, no such item: 404, no money: 402, a key of another order: 422
//     SIGTERM came during an order: 201, close
//     all asked again and again, also after a restart: 0 heard something else
//     item   there were  free  reserved  sold
//     lamp           10     0         0    10
//     piano           1     1         0     0
//     vase            4     3         0     1
//     orders: 14, of which taken back: 3, open: 0
//     answers of the shippers that had an effect: 14, to the same order: 0
//     parcels: 11, for the same order: 0
//     euros in the till: 110, in wallets: 270, reserved: 0, together: 380
//     locks that are held or wanted afterwards: 0

#include "http_server/program.hpp"
#include "http_server/server.hpp"
#include "order_server/desk.hpp"
#include "order_server/self_test.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdint>
#include <exception>
#include <iostream>
#include <string_view>

namespace asio = boost::asio;
using namespace order_server;

namespace {

// The goods and customers at the start.
asio::awaitable<void> furnish(databases& books) {
    co_await books.put_in_stock("lamp", 10, 10);
    co_await books.put_in_stock("piano", 900, 1);
    co_await books.enrol("ann", 50, "1 The Street");
    co_await books.enrol("bob", 1'000, "2 The Street");
    co_await books.enrol("eve", 50, "");
}

asio::awaitable<void> serve(std::uint16_t port) {
    const auto executor = co_await asio::this_coro::executor;
    shop goods(executor);
    co_await goods.open();
    co_await furnish(goods.books());
    desk front(goods);
    http_server::server door(executor, front, {asio::ip::address_v4::loopback(), port});
    std::cout << "listening on " << door.address() << std::endl;
    co_await door.run();
}

}  // namespace

int main(int argc, char** argv) try {
    asio::io_context context;
    const std::string_view argument = argc > 1 ? argv[1] : "8080";
    if (argument == "--self-test")
        http_server::run(context, test());
    else
        http_server::run(context, serve(http_server::parse_port(argument, "15_order_server")));
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
