// SPDX-License-Identifier: BSL-1.0
// An HTTP server whose handlers await locks: a shop that never sells more than its stock, even if
// several servers on this host sell from the same books. It shuts down gracefully: it answers the
// requests that it has received, and leaves nothing locked.
//
//     10_http_server [PORT]          serves the present folder's books, on port 8080
//     10_http_server --self-test     two servers, and clients for them
//
//     curl -X POST localhost:8080/buy/lamp
//     curl localhost:8080/metrics
//
// What the self-test prints:
//
// Prints:
//     24 wished for a lamp: 10 got one, 14 came too late
//     in stock: 0
//     the moon: 404
//     leases that the two servers took: 25
//     SIGTERM came during a purchase: 200, close
//     locks that are held or wanted afterwards: 0

#include "http_server/program.hpp"
#include "http_server/self_test.hpp"
#include "http_server/server.hpp"
#include "http_server/shop.hpp"

#include <boost/asio/ip/address_v4.hpp>

#include <cstdint>
#include <exception>
#include <iostream>
#include <string_view>

namespace asio = boost::asio;
using namespace http_server;

namespace {

asio::awaitable<void> sell(server& door, shop& goods) {
    co_await goods.open();
    co_await goods.put_in_stock("lamp", 10);
    std::cout << "listening on " << door.address() << std::endl;
    co_await door.run();
}

void serve(asio::io_context& context, std::uint16_t port) {
    shop goods(context.get_executor(), "shop");
    server door(context.get_executor(), goods, {asio::ip::address_v4::loopback(), port});
    run(context, sell(door, goods));
}

}  // namespace

int main(int argc, char** argv) try {
    asio::io_context context;
    const std::string_view argument = argc > 1 ? argv[1] : "8080";
    if (argument == "--self-test")
        run_self_test(context);
    else
        serve(context, parse_port(argument, "10_http_server"));
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
