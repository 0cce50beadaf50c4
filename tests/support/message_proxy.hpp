// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_MESSAGE_PROXY_HPP
#define MORTISE_TESTS_SUPPORT_MESSAGE_PROXY_HPP

#include "support/message_reader.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace mortise::test {

namespace asio = boost::asio;

/// Stands between clients and a database server, and spoils messages: commands and pushes, which a
/// `message_reader` of the protocol knows.
///
/// It holds work on the executor while it lives.
///
/// @par Threads That of the executor.
class message_proxy {
public:
    enum class kind : std::uint8_t { command, push };
    enum class deed : std::uint8_t {
        pass,
        late,        ///< It is passed on after 2 ms, and all behind it later.
        cut,         ///< Of a command: it is lost with the connection, after the answers to others.
        cut_answer,  ///< Of a command: its answer is lost with the connection.
        repeat,      ///< It comes twice; the second answer is not passed on.
        swallow,     ///< Of a push: it does not arrive.
    };
    using judge_function = std::function<deed(kind, std::string_view bytes)>;

    using make_reader = std::unique_ptr<message_reader> (*)();

    message_proxy(asio::any_io_executor executor, std::uint16_t server_port, make_reader make);
    /// Ends all connections.
    ~message_proxy();
    message_proxy(const message_proxy&) = delete;
    message_proxy& operator=(const message_proxy&) = delete;

    /// A port of 127.0.0.1.
    std::uint16_t port() const noexcept;

    void decide(judge_function judge);
    /// Tells clients another number of each connection, as poolers do.
    void pose_as_pooler();
    /// Lets nothing through in either way, while all connections stay; or everything again.
    void hold(bool held);

private:
    class core;
    std::shared_ptr<core> core_;
};

}  // namespace mortise::test

#endif
