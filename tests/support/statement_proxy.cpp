// SPDX-License-Identifier: BSL-1.0
#include "support/statement_proxy.hpp"

#include "support/without_throw.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace mortise::test {
namespace {

using tcp = asio::ip::tcp;

struct link {
    explicit link(tcp::socket from, tcp::socket to)
        : client(std::move(from)), server(std::move(to)) {}

    void close() {
        boost::system::error_code ignored;
        client.close(ignored);
        server.close(ignored);
    }

    tcp::socket client;
    tcp::socket server;
    bool cut_answer = false;
    bool stalled = false;
};

}  // namespace

class statement_proxy::core : public std::enable_shared_from_this<core> {
public:
    core(asio::any_io_executor executor, std::uint16_t server_port)
        : executor_(executor),
          server_(asio::ip::address_v4::loopback(), server_port),
          acceptor_(executor, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {}

    void start() { asio::co_spawn(executor_, accept(shared_from_this()), asio::detached); }

    void end() {
        boost::system::error_code ignored;
        acceptor_.close(ignored);
        for (const auto& each : std::exchange(links_, {}))
            each->close();
    }

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

    std::string text;
    deed then = deed::none;
    std::size_t connections = 0;

private:
    static asio::awaitable<void> accept(std::shared_ptr<core> self) {
        for (;;) {
            tcp::socket client(self->executor_);
            const auto accepted = co_await self->acceptor_.async_accept(client, without_throw);
            if (std::get<0>(accepted))
                co_return;
            ++self->connections;
            tcp::socket server(self->executor_);
            const auto connected = co_await server.async_connect(self->server_, without_throw);
            if (std::get<0>(connected))
                continue;
            const auto joint = std::make_shared<link>(std::move(client), std::move(server));
            self->links_.insert(joint);
            asio::co_spawn(self->executor_, to_server(self, joint), asio::detached);
            asio::co_spawn(self->executor_, to_client(self, joint), asio::detached);
        }
    }

    static asio::awaitable<void> to_server(std::shared_ptr<core> self, std::shared_ptr<link> on) {
        std::array<char, 65'536> bytes{};
        for (;;) {
            const auto read =
                co_await on->client.async_read_some(asio::buffer(bytes), without_throw);
            if (std::get<0>(read))
                break;
            const std::string_view chunk(bytes.data(), std::get<1>(read));
            const bool meant =
                self->then != deed::none && chunk.find(self->text) != std::string_view::npos;
            const deed now = meant ? std::exchange(self->then, deed::none) : deed::none;
            if (now == deed::cut)
                break;
            if (now == deed::hold) {
                on->client.close();
                co_return;
            }
            on->cut_answer = on->cut_answer || now == deed::cut_answer;
            on->stalled = on->stalled || now == deed::stall;
            const auto written =
                co_await asio::async_write(on->server, asio::buffer(chunk), without_throw);
            if (std::get<0>(written))
                break;
        }
        on->close();
        self->links_.erase(on);
    }

    static asio::awaitable<void> to_client(std::shared_ptr<core> self, std::shared_ptr<link> on) {
        std::array<char, 65'536> bytes{};
        for (;;) {
            const auto read =
                co_await on->server.async_read_some(asio::buffer(bytes), without_throw);
            if (std::get<0>(read) || on->cut_answer)
                break;
            if (on->stalled)
                continue;
            const std::string_view chunk(bytes.data(), std::get<1>(read));
            const auto written =
                co_await asio::async_write(on->client, asio::buffer(chunk), without_throw);
            if (std::get<0>(written))
                break;
        }
        on->close();
        self->links_.erase(on);
    }

    const asio::any_io_executor executor_;
    const tcp::endpoint server_;
    tcp::acceptor acceptor_;
    std::set<std::shared_ptr<link>> links_;
};

statement_proxy::statement_proxy(asio::any_io_executor executor, std::uint16_t server_port)
    : core_(std::make_shared<core>(std::move(executor), server_port)) {
    core_->start();
}

statement_proxy::~statement_proxy() {
    core_->end();
}

std::uint16_t statement_proxy::port() const noexcept {
    return core_->port();
}

void statement_proxy::at(std::string text, deed then) {
    core_->text = std::move(text);
    core_->then = then;
}

bool statement_proxy::pending() const noexcept {
    return core_->then != deed::none;
}

std::size_t statement_proxy::connections() const noexcept {
    return core_->connections;
}

}  // namespace mortise::test
