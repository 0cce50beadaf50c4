// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_POSTGRES_MESSAGE_PROXY_HPP
#define MORTISE_TESTS_SUPPORT_POSTGRES_MESSAGE_PROXY_HPP

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace mortise::test {

namespace asio = boost::asio;

/// Stands between clients and a PostgreSQL server, and spoils messages: all that a client sends up
/// to and with a Sync is one, and each notification of the server is another. Without TLS.
///
/// It holds work on the executor while it lives.
///
/// @par Threads That of the executor.
class postgres_message_proxy {
public:
    enum class kind : std::uint8_t { command, push };
    enum class deed : std::uint8_t {
        pass,
        late,     ///< It is passed on after 2 ms, and all behind it later.
        cut,      ///< Of a command: it is lost with the connection, after the answers to others.
        repeat,   ///< It comes twice; the second answer to a command is not passed on.
        swallow,  ///< Of a push: it does not arrive.
    };
    using judge_function = std::function<deed(kind, std::string_view bytes)>;

    postgres_message_proxy(asio::any_io_executor executor, std::uint16_t server_port);
    /// Ends all connections.
    ~postgres_message_proxy();
    postgres_message_proxy(const postgres_message_proxy&) = delete;
    postgres_message_proxy& operator=(const postgres_message_proxy&) = delete;

    /// A port of 127.0.0.1.
    std::uint16_t port() const noexcept;

    void decide(judge_function judge);
    /// Tells clients another number of the server's process, as poolers do.
    void pose_as_pooler();
    /// Lets nothing through in either way, while all connections stay; or everything again.
    void hold(bool held);

private:
    class core;
    std::shared_ptr<core> core_;
};

}  // namespace mortise::test

#endif
