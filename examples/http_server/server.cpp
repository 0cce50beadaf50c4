// SPDX-License-Identifier: BSL-1.0
#include "http_server/server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>

namespace http_server {
namespace {

using boost::system::error_code;
using namespace std::chrono_literals;

/// How long connections may take to end after the server stops.
constexpr auto grace = 10s;

tcp::acceptor listen_at(const asio::any_io_executor& executor, const tcp::endpoint& where) try {
    return {executor, where};
} catch (const boost::system::system_error& wrong) {
    throw std::runtime_error(
        "port " + std::to_string(where.port()) + ": " + wrong.code().message() +
        "; name another one"
    );
}

}  // namespace

server::server(const asio::any_io_executor& executor, handler& behind, const tcp::endpoint& where)
    : handler_(behind),
      acceptor_(listen_at(executor, where)),
      signals_(executor, SIGTERM, SIGINT),
      connections_(executor) {}

asio::awaitable<void> server::run() {
    const auto executor = co_await asio::this_coro::executor;
    signals_.async_wait([this](error_code code, int) {
        if (!code)
            stop();
    });
    co_await accept();
    auto end =
        asio::co_spawn(executor, connections_.join(), asio::cancel_after(grace, asio::deferred));
    co_await std::move(end);
    co_await handler_.stop();
}

asio::awaitable<void> server::accept() {
    while (!stopping_) {
        auto accepted = co_await acceptor_.async_accept(asio::as_tuple(asio::deferred));
        auto& [code, socket] = accepted;
        if (!code) {
            connections_.spawn(serve(std::move(socket)));
        } else if (!stopping_) {
            // Most likely too many files are open; that gets better as connections end.
            asio::steady_timer timer(acceptor_.get_executor(), 100ms);
            co_await timer.async_wait(asio::deferred);
        }
    }
}

// Stops receiving: a connection that waits for its next request sees the end of its input. Requests
// received before are still answered.
void server::stop() {
    stopping_ = true;
    error_code ignored;  // a broken socket is closed already
    acceptor_.close(ignored);
    for (tcp::socket* each : open_)
        each->shutdown(tcp::socket::shutdown_receive, ignored);
}

asio::awaitable<void> server::converse(tcp::socket& socket) {
    boost::beast::flat_buffer buffer(buffer_bytes_max);
    for (bool goes_on = true; goes_on;) {
        const auto incoming = co_await read_request(socket, buffer);
        if (!incoming)
            co_return;
        response answer = co_await handler_.answer(*incoming);
        goes_on = incoming->keep_alive() && !stopping_;
        answer.keep_alive(goes_on);
        co_await write_response(socket, answer);
    }
}

asio::awaitable<void> server::serve(tcp::socket socket) {
    open_.insert(&socket);
    try {
        co_await converse(socket);
    } catch (const boost::system::system_error&) {  // NOLINT(bugprone-empty-catch)
        // The peer is gone, sent no HTTP, or was too slow. Only this connection ends.
    }
    open_.erase(&socket);
    error_code ignored;
    socket.shutdown(tcp::socket::shutdown_both, ignored);
}

}  // namespace http_server
