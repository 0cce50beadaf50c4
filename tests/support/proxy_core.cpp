// SPDX-License-Identifier: BSL-1.0
#include "support/proxy_core.hpp"

#include "support/proxy_link.hpp"
#include "support/without_throw.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <utility>

namespace mortise::test {
namespace {

asio::ip::tcp::endpoint here(std::uint16_t port) {
    return {asio::ip::address_v4::loopback(), port};
}

}  // namespace

proxy_core::proxy_core(
    asio::any_io_executor executor,
    std::uint16_t server_port,
    std::shared_ptr<coro::time_source> time
)
    : executor_(std::move(executor)),
      server_(here(server_port)),
      time_(time ? std::move(time) : coro::make_boot_time_source(executor_)),
      acceptor_(executor_),
      to_server_(executor_),
      to_client_(executor_) {
    to_server_.set();
    to_client_.set();
}

void proxy_core::listen() {
    if (acceptor_.is_open())
        return;
    acceptor_.open(asio::ip::tcp::v4());
    acceptor_.set_option(asio::socket_base::reuse_address(true));
    acceptor_.bind(here(port_.port()));
    acceptor_.listen();
    const auto self = shared_from_this();
    asio::co_spawn(executor_, self->accept(), [self](std::exception_ptr failure) {
        EXPECT_FALSE(failure) << "the proxy accepts nothing more";
    });
}

void proxy_core::refuse() {
    acceptor_.close();
}

void proxy_core::cut_all() {
    const auto all = links_;  // each takes itself out
    for (const auto& [number, link] : all)
        link->cut();
}

void proxy_core::end() {
    refuse();
    cut_all();
    to_server_.close();
    to_client_.close();
}

asio::awaitable<void> proxy_core::accept() {
    for (;;) {
        auto accepted = co_await acceptor_.async_accept(without_throw);
        if (std::get<0>(accepted))
            co_return;  // closed
        auto connecting = connect(std::move(std::get<1>(accepted)));
        co_await std::move(connecting);
    }
}

asio::awaitable<void> proxy_core::connect(asio::ip::tcp::socket client) {
    asio::ip::tcp::socket server(executor_);
    const auto connected = co_await server.async_connect(server_, without_throw);
    // A server that is gone ends the connection; so does a proxy that refuses connections.
    if (std::get<0>(connected) || !acceptor_.is_open())
        co_return;
    connection_counts_.emplace_back();
    const std::uint64_t number = connection_counts_.size();
    const auto link = std::make_shared<proxy_link>(
        shared_from_this(), number, std::move(client), std::move(server)
    );
    links_.emplace(number, link);
    link->start();
}

proxy_deed proxy_core::judge(proxied_message message) {
    message_counts& of_connection = connection_counts_.at(message.connection - 1);
    message.number = ++counts_.of(message.type);
    message.number_on_connection = ++of_connection.of(message.type);
    proxy_deed deed;
    if (const auto order = orders.extract({message.type, message.number}))
        deed = order.mapped();
    else if (decision)
        deed = decision(message);
    EXPECT_TRUE(deed.fits(message.type)) << "no such thing can be done to a message of this kind";
    return deed;
}

}  // namespace mortise::test
