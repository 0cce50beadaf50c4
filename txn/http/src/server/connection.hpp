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

/// A client's connection to a server. Used on the server's strand only.
class connection {
public:
    /// The phases of a connection. Each has a time limit of its own, except `answering`.
    enum class phase : std::uint8_t {
        greeting,   ///< The TLS handshake, if there is one.
        idle,       ///< Waiting for the first byte of a request.
        reading,    ///< Reading the rest of the request.
        answering,  ///< The answer is being made.
        writing,    ///< Until the client has taken the answer.
    };

    explicit connection(asio::ip::tcp::socket accepted) : stream(std::move(accepted)) {}

    /// Whether it can be closed to make room: no request is lost by that.
    bool may_make_room() const noexcept {
        return (at == phase::idle || at == phase::greeting) && !given_up;
    }

    /// Ends whatever it waits for at the client.
    void give_up() noexcept {
        given_up = true;
        boost::system::error_code ignored;  // a broken socket waits for nothing
        stream.socket().cancel(ignored);
    }

    byte_stream stream;
    asio::cancellation_signal stop;
    coro::detail::deadline_list::handle timer;
    std::string arrived;
    phase at = phase::idle;
    bool given_up = false;
    std::uint64_t idle_since = 0;  ///< The order in which connections came or became idle.
};

}  // namespace mortise::txn::http

#endif
