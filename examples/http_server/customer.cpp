// SPDX-License-Identifier: BSL-1.0
#include "http_server/customer.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

namespace http_server {

customer::customer(const asio::any_io_executor& executor, const tcp::endpoint& where)
    : socket_(executor), buffer_(buffer_bytes_max) {
    socket_.connect(where);
}

asio::awaitable<response> customer::ask(request outgoing) {
    outgoing.set(http::field::host, "localhost");
    co_await write_request(socket_, outgoing);
    auto answer = co_await read_response(socket_, buffer_);
    if (!answer)
        throw std::runtime_error("no answer to " + std::string(outgoing.target()));
    co_return std::move(*answer);
}

asio::awaitable<response> customer::ask(http::verb method, std::string target) {
    request outgoing(method, target, 11);
    auto asking = ask(std::move(outgoing));
    co_return co_await std::move(asking);
}

asio::awaitable<void>
customer::await_page(std::string target, std::function<bool(const std::string&)> hoped) {
    asio::steady_timer timer(socket_.get_executor());
    for (;;) {
        const response page = co_await ask(http::verb::get, target);
        if (hoped(page.body()))
            co_return;
        timer.expires_after(std::chrono::milliseconds(1));
        co_await timer.async_wait(asio::deferred);
    }
}

asio::awaitable<void> customer::hung_up() {
    const auto more = co_await read_response(socket_, buffer_);
    if (more)
        throw std::runtime_error("an answer that nobody asked for");
}

int counter_on(const std::string& page, const std::string& name) {
    const auto found = page.find('\n' + name + '{');
    if (found == std::string::npos)
        throw std::runtime_error("no metric " + name);
    return std::stoi(page.substr(page.find(' ', found + 1)));
}

}  // namespace http_server
