// SPDX-License-Identifier: BSL-1.0
#include "support/tcp_relay.hpp"

#include "mortise/coro/event.hpp"
#include "support/without_throw.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <cstddef>
#include <set>
#include <utility>

namespace mortise::test {
namespace {

using tcp = asio::ip::tcp;

struct pair_of_sockets {
    pair_of_sockets(tcp::socket from, tcp::socket to)
        : client(std::move(from)), server(std::move(to)) {
        client.set_option(tcp::no_delay(true));
        server.set_option(tcp::no_delay(true));
    }

    void close() {
        boost::system::error_code ignored;
        client.close(ignored);
        server.close(ignored);
    }

    tcp::socket client;
    tcp::socket server;
};

}  // namespace

class tcp_relay::core : public std::enable_shared_from_this<core> {
public:
    core(const asio::any_io_executor& executor, std::uint16_t server_port)
        : gates_{coro::event(executor), coro::event(executor)},
          executor_(executor),
          server_(asio::ip::address_v4::loopback(), server_port),
          acceptor_(executor, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
        open_gates();
    }

    void start() { asio::co_spawn(executor_, accept(shared_from_this()), asio::detached); }

    void end() {
        boost::system::error_code ignored;
        acceptor_.close(ignored);
        for (const auto& each : std::exchange(links_, {}))
            each->close();
        open_gates();
    }

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    /// Set while that way is open.
    coro::event& gate(way direction) { return gates_.at(static_cast<std::size_t>(direction)); }

private:
    using link = std::shared_ptr<pair_of_sockets>;

    void open_gates() {
        for (auto& each : gates_)
            each.set();
    }

    static asio::awaitable<void> accept(std::shared_ptr<core> self) {
        for (;;) {
            tcp::socket client(self->executor_);
            const auto accepted = co_await self->acceptor_.async_accept(client, without_throw);
            if (std::get<0>(accepted))
                co_return;
            tcp::socket server(self->executor_);
            const auto connected = co_await server.async_connect(self->server_, without_throw);
            if (std::get<0>(connected) || !self->acceptor_.is_open())
                continue;
            const auto both =
                std::make_shared<pair_of_sockets>(std::move(client), std::move(server));
            self->links_.insert(both);
            for (const auto each : {way::to_server, way::to_client})
                asio::co_spawn(self->executor_, pass(self, both, each), asio::detached);
        }
    }

    static asio::awaitable<void> pass(std::shared_ptr<core> self, link on, way direction) {
        auto& from = direction == way::to_server ? on->client : on->server;
        auto& to = direction == way::to_server ? on->server : on->client;
        std::array<char, 65'536> bytes{};
        for (bool goes_on = true; goes_on;) {
            const auto read = co_await from.async_read_some(asio::buffer(bytes), without_throw);
            co_await self->gate(direction).async_wait(without_throw);
            goes_on = !std::get<0>(read);
            if (goes_on) {
                const auto some = asio::buffer(bytes.data(), std::get<1>(read));
                const auto written = co_await asio::async_write(to, some, without_throw);
                goes_on = !std::get<0>(written);
            }
        }
        on->close();
        self->links_.erase(on);
    }

    std::array<coro::event, 2> gates_;
    const asio::any_io_executor executor_;
    const tcp::endpoint server_;
    tcp::acceptor acceptor_;
    std::set<link> links_;
};

tcp_relay::tcp_relay(const asio::any_io_executor& executor, std::uint16_t server_port)
    : core_(std::make_shared<core>(executor, server_port)) {
    core_->start();
}

tcp_relay::~tcp_relay() {
    core_->end();
}

std::uint16_t tcp_relay::port() const {
    return core_->port();
}

void tcp_relay::hold(way direction, bool held) {
    if (held)
        core_->gate(direction).reset();
    else
        core_->gate(direction).set();
}

}  // namespace mortise::test
