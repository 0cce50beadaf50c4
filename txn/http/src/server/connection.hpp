// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_SERVER_CONNECTION_HPP
#define MORTISE_TXN_HTTP_SRC_SERVER_CONNECTION_HPP

#include "mortise/coro/detail/deadline_list.hpp"
#include "stream/byte_stream.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace mortise::txn::http {

namespace asio = boost::asio;

/// A client of a server. All on the server's strand.
class connection {
public:
    /// What it is doing, which says what the end of its time means.
    enum class phase : std::uint8_t {
        greeting,   ///< The TLS handshake, if there is one.
        idle,       ///< Waiting for the first byte of a request.
        reading,    ///< The rest of it.
        answering,  ///< Somebody works on it.
        writing,    ///< Until the client has taken the answer.
    };

    explicit connection(asio::ip::tcp::socket accepted) : stream(std::move(accepted)) {}

    /// Nobody is harmed when it makes room for another one.
    bool may_make_room() const noexcept {
        return (at == phase::idle || at == phase::greeting) && !given_up;
    }

    /// Whatever it waits for at the client ends now.
    void give_up() noexcept {
        given_up = true;
        boost::system::error_code ignored;  // a socket that is broken waits for nothing
        stream.socket().cancel(ignored);
    }

    byte_stream stream;
    asio::cancellation_signal stop;
    coro::detail::deadline_list::handle timer;
    std::string arrived;
    phase at = phase::idle;
    bool given_up = false;
    std::uint64_t idle_since = 0;  ///< In the order in which connections came or became idle.
};

}  // namespace mortise::txn::http

#endif
