// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_PROXY_CORE_HPP
#define MORTISE_TESTS_SUPPORT_PROXY_CORE_HPP

#include "mortise/coro/event.hpp"
#include "support/port_reservation.hpp"
#include "support/redis_proxy.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <map>
#include <vector>

namespace mortise::test {

class proxy_link;

/// Shared by the connections of a `redis_proxy`. It lives as long as the last of them.
class proxy_core : public std::enable_shared_from_this<proxy_core> {
public:
    using kind = proxied_message::kind;
    using way = redis_proxy::way;

    proxy_core(
        asio::any_io_executor executor,
        std::uint16_t server_port,
        std::shared_ptr<coro::time_source> time
    );

    void listen();
    void refuse();
    void cut_all();
    void end();

    /// Counts a message and decides on its treatment.
    proxy_deed judge(proxied_message message);

    const std::shared_ptr<coro::time_source>& time() const noexcept { return time_; }
    coro::event& gate(way direction) {
        return direction == way::to_server ? to_server_ : to_client_;
    }
    void gone(std::uint64_t connection) { links_.erase(connection); }

    /// Orders for single messages, by their number.
    std::map<std::pair<kind, std::uint64_t>, proxy_deed> orders;
    std::function<proxy_deed(const proxied_message&)> decision;
    bool reset = false;

    const message_counts& counts() const noexcept { return counts_; }
    const message_counts& counts(std::uint64_t connection) const {
        return connection_counts_.at(connection - 1);
    }
    std::uint64_t connections() const noexcept { return connection_counts_.size(); }
    std::size_t open() const noexcept { return links_.size(); }
    std::uint16_t port() const noexcept { return port_.port(); }

private:
    asio::awaitable<void> accept();
    asio::awaitable<void> connect(asio::ip::tcp::socket client);

    const asio::any_io_executor executor_;
    const asio::ip::tcp::endpoint server_;
    const std::shared_ptr<coro::time_source> time_;
    const port_reservation port_;
    asio::ip::tcp::acceptor acceptor_;
    coro::event to_server_;
    coro::event to_client_;
    message_counts counts_;
    std::vector<message_counts> connection_counts_;
    std::map<std::uint64_t, std::shared_ptr<proxy_link>> links_;
};

}  // namespace mortise::test

#endif
