// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_PROXY_LINK_HPP
#define MORTISE_TESTS_SUPPORT_PROXY_LINK_HPP

#include "support/proxy_core.hpp"
#include "support/redis_exchange.hpp"
#include "support/resp_framing.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <array>

namespace mortise::test {

/// One client's connection through a `redis_proxy`.
class proxy_link : public std::enable_shared_from_this<proxy_link> {
public:
    using socket = asio::ip::tcp::socket;

    proxy_link(
        std::shared_ptr<proxy_core> core, std::uint64_t number, socket client, socket server
    );

    void start();
    /// Ends both halves.
    void cut();

private:
    using way = redis_proxy::way;

    /// The state of one way.
    class lane {
    public:
        explicit lane(way direction) : where(direction) {}

        way where;
        resp_framing framing;
        std::array<char, 16384> bytes{};
        asio::cancellation_signal wake;  ///< Ends a delay.
    };

    // Functions that return whether to go on return false when the connection has ended.
    asio::awaitable<void> pump(lane& from);
    asio::awaitable<bool> pass_command(resp_message command);
    asio::awaitable<bool> pass_answer(resp_message message);
    asio::awaitable<bool> obey(lane& on, proxy_deed deed);
    asio::awaitable<bool> write(lane& on, std::string bytes);
    proxied_message described(proxied_message::kind type, std::string name, std::string_view bytes);

    const std::shared_ptr<proxy_core> core_;
    const std::uint64_t number_;
    socket client_;
    socket server_;
    lane to_server_{way::to_server};
    lane to_client_{way::to_client};
    redis_exchange exchange_;
    coro::event ended_;
    coro::event answered_;  ///< No command is on its way.
};

}  // namespace mortise::test

#endif
