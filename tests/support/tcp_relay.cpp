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
#include <string>
#include <utility>

namespace mortise::test {
namespace {

using tcp = asio::ip::tcp;

/// What goes one way.
struct stream {
    explicit stream(const asio::any_io_executor& executor) : news(executor) {}

    std::string pending;  ///< Has come and was not passed on yet.
    coro::event news;     ///< Something has come, or the end.
    bool ended = false;
};

struct pair_of_sockets {
    pair_of_sockets(tcp::socket from, tcp::socket to)
        : client(std::move(from)),
          server(std::move(to)),
          streams{stream(client.get_executor()), stream(client.get_executor())} {
        client.set_option(tcp::no_delay(true));
        server.set_option(tcp::no_delay(true));
    }

    // Wakes who waits for news.
    void close() {
        boost::system::error_code ignored;
        client.close(ignored);
        server.close(ignored);
        for (auto& each : streams) {
            each.ended = true;
            each.news.set();
        }
    }

    tcp::socket client;
    tcp::socket server;
    std::array<stream, 2> streams;
    bool sent_away = false;  ///< The client, of which the server hears nothing.
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
        end_connections();
        open_gates();
    }

    void end_connections() {
        for (const auto& each : std::exchange(links_, {}))
            each->close();
    }

    // What a client has sent can still be read.
    void send_clients_away() {
        boost::system::error_code ignored;
        for (const auto& each : links_) {
            each->sent_away = true;
            each->client.shutdown(tcp::socket::shutdown_send, ignored);
        }
    }

    void refuse(bool all) { refuses_ = all; }
    std::size_t connections() const { return links_.size(); }
    std::uint64_t accepted() const { return accepted_; }
    std::string held_back(way direction) const {
        std::string all;
        for (const auto& each : links_)
            all += each->streams.at(static_cast<std::size_t>(direction)).pending;
        return all;
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
            if (std::get<0>(connected) || !self->acceptor_.is_open() || self->refuses_)
                continue;
            const auto both =
                std::make_shared<pair_of_sockets>(std::move(client), std::move(server));
            self->links_.insert(both);
            ++self->accepted_;
            for (const auto each : {way::to_server, way::to_client}) {
                asio::co_spawn(self->executor_, receive(both, each), asio::detached);
                asio::co_spawn(self->executor_, pass(self, both, each), asio::detached);
            }
        }
    }

    // Receives while the gate is closed, too: what is held can be looked at.
    static asio::awaitable<void> receive(link on, way direction) {
        auto& from = direction == way::to_server ? on->client : on->server;
        auto& into = on->streams.at(static_cast<std::size_t>(direction));
        std::array<char, 65'536> bytes{};
        while (!into.ended) {
            const auto read = co_await from.async_read_some(asio::buffer(bytes), without_throw);
            into.pending.append(bytes.data(), std::get<1>(read));
            into.ended = into.ended || std::get<0>(read);
            into.news.set();
        }
    }

    static asio::awaitable<void> pass(std::shared_ptr<core> self, link on, way direction) {
        const bool inward = direction == way::to_server;
        auto& to = inward ? on->server : on->client;
        auto& from = on->streams.at(static_cast<std::size_t>(direction));
        for (bool goes_on = true; goes_on;) {
            co_await from.news.async_wait(without_throw);
            from.news.reset();
            co_await self->gate(direction).async_wait(without_throw);
            const auto some = std::exchange(from.pending, {});
            goes_on = !from.ended;
            if (some.empty() || !to.is_open())
                continue;
            const auto written = co_await asio::async_write(to, asio::buffer(some), without_throw);
            // A client that was sent away needs no answer.
            if (std::get<0>(written) && !(on->sent_away && !inward))
                goes_on = false;
        }
        if (on->sent_away && inward && on->server.is_open())
            co_return;  // The server may end the connection, or go on to wait for the client.
        on->close();
        self->links_.erase(on);
    }

    std::array<coro::event, 2> gates_;
    const asio::any_io_executor executor_;
    const tcp::endpoint server_;
    tcp::acceptor acceptor_;
    std::set<link> links_;
    std::uint64_t accepted_ = 0;
    bool refuses_ = false;
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

std::size_t tcp_relay::connections() const {
    return core_->connections();
}

std::uint64_t tcp_relay::accepted() const {
    return core_->accepted();
}

std::string tcp_relay::held_back(way direction) const {
    return core_->held_back(direction);
}

void tcp_relay::send_clients_away() {
    core_->send_clients_away();
}

void tcp_relay::refuse(bool all) {
    core_->refuse(all);
}

void tcp_relay::end_connections() {
    core_->end_connections();
}

void tcp_relay::hold(way direction, bool held) {
    if (held)
        core_->gate(direction).reset();
    else
        core_->gate(direction).set();
}

}  // namespace mortise::test
