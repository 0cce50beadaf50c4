// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_TCP_RELAY_HPP
#define MORTISE_TESTS_SUPPORT_TCP_RELAY_HPP

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mortise::test {

namespace asio = boost::asio;

/// Stands between a TCP server and those that connect to it, whatever they say, and can hold what
/// goes one way.
///
/// It holds work on the executor while it lives.
///
/// @par Threads That of the executor.
class tcp_relay {
public:
    enum class way : std::uint8_t { to_server, to_client };

    /// @param server_port of 127.0.0.1
    tcp_relay(const asio::any_io_executor& executor, std::uint16_t server_port);
    /// Ends all connections.
    ~tcp_relay();
    tcp_relay(const tcp_relay&) = delete;
    tcp_relay& operator=(const tcp_relay&) = delete;

    /// A port of 127.0.0.1.
    std::uint16_t port() const;

    /// Those that neither side has ended, and all that there ever were.
    std::size_t connections() const;
    std::uint64_t accepted() const;

    /// Lets nothing through in that way, not even the end of a connection; or everything again.
    void hold(way direction, bool held);
    /// What has come for that way, and was not let through.
    std::string held_back(way direction) const;

    /// Ends the connections for those who have made them. The server is not told, and gets what
    /// they have sent once that way is open.
    void send_clients_away();
    /// Ends connections as soon as they are made, or takes them again.
    void refuse(bool all);
    /// Ends all connections; others may be made.
    void end_connections();

private:
    class core;
    std::shared_ptr<core> core_;
};

}  // namespace mortise::test

#endif
