// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_STREAM_BYTE_STREAM_HPP
#define MORTISE_TXN_HTTP_SRC_STREAM_BYTE_STREAM_HPP

#include "mortise/error.hpp"
#include "mortise/txn/http/http_client_config.hpp"
#include "mortise/txn/http/http_server_config.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace mortise::txn::http {

namespace asio = boost::asio;

/// Makes the TLS context of a client's connections; null if `wanted` is false.
/// @throws error (`bad_config`) that names a file that cannot be used, or a setting that has no
///         effect.
std::shared_ptr<asio::ssl::context> make_tls(const http_client_config& config, bool wanted);

/// Makes the TLS context of a server's connections; null if it has no certificate.
/// @throws error (`bad_config`), in the same way.
std::shared_ptr<asio::ssl::context> make_tls(const http_server_config& config);

}  // namespace mortise::txn::http

namespace boost::asio::ssl {
class context;
}

namespace mortise::txn::http {

/// A TCP connection, with TLS from its handshake on, if there was one.
///
/// All waits end by a cancellation (terminal), or when the socket is cancelled or closed.
///
/// @par Threads One strand, that of the socket.
class byte_stream {
public:
    using tcp = asio::ip::tcp;

    explicit byte_stream(tcp::socket over);
    ~byte_stream();
    byte_stream(const byte_stream&) = delete;
    byte_stream& operator=(const byte_stream&) = delete;

    tcp::socket& socket() noexcept { return socket_; }
    const tcp::socket& socket() const noexcept { return socket_; }

    /// Makes the server prove that it is `host`. After a failure, `why` has a text for people.
    asio::awaitable<error_code>
    greet(asio::ssl::context& tls, const std::string& host, std::string& why);
    /// Does the server's side of the handshake.
    asio::awaitable<error_code> be_greeted(asio::ssl::context& tls);

    /// Reads at least one byte. The end of the peer's bytes is `eof`, however it ended.
    asio::awaitable<result<std::size_t>> read_some(asio::mutable_buffer into);
    /// Writes all bytes.
    asio::awaitable<error_code> write(asio::const_buffer from);

    /// Tells the peer of a TLS connection that nothing more comes. Ignores failures.
    asio::awaitable<void> say_end();

    /// Whether all bytes that came were read, and the peer has not ended the connection.
    bool is_quiet();

private:
    class tls_layer;

    tcp::socket socket_;
    std::unique_ptr<tls_layer> tls_;  ///< Null: plain TCP.
};

}  // namespace mortise::txn::http

#endif
