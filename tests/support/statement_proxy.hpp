// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_STATEMENT_PROXY_HPP
#define MORTISE_TESTS_SUPPORT_STATEMENT_PROXY_HPP

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mortise::test {

namespace asio = boost::asio;

/// Stands between clients and a database server, and ends connections at the point that it is
/// told. It knows nothing of the protocol but the text of a statement, without TLS.
///
/// It holds work on the executor while it lives.
///
/// @par Threads That of the executor.
class statement_proxy {
public:
    statement_proxy(asio::any_io_executor executor, std::uint16_t server_port);
    /// Ends all connections.
    ~statement_proxy();
    statement_proxy(const statement_proxy&) = delete;
    statement_proxy& operator=(const statement_proxy&) = delete;

    /// A port of 127.0.0.1.
    std::uint16_t port() const noexcept;

    enum class deed : std::uint8_t {
        none,
        cut,         ///< The connection ends, and the statement is lost.
        cut_answer,  ///< The statement arrives; the connection ends instead of its answer.
        hold,        ///< The server does not get it, and does not see the end of the connection.
        stall,       ///< The statement arrives; nothing comes back, and the connection stays.
    };
    /// Does this to the next write of a client that contains the text.
    void at(std::string text, deed then);
    /// Whether that has not happened yet.
    bool pending() const noexcept;
    /// How many connections were ever made.
    std::size_t connections() const noexcept;

private:
    class core;
    std::shared_ptr<core> core_;
};

}  // namespace mortise::test

#endif
