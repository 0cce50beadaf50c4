// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_PARTICIPANT_ROUTES_HPP
#define MORTISE_TXN_HTTP_PARTICIPANT_ROUTES_HPP

#include "mortise/txn/http/http_access.hpp"
#include "mortise/txn/http/http_message.hpp"
#include "mortise/txn/participant.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace mortise::txn {

namespace asio = boost::asio;
namespace http {
class participant_desk;
}

/// Participants by the names under which they are called.
using participant_map = std::map<std::string, std::shared_ptr<participant>, std::less<>>;

/// The prefix of the routes in a server, and who may call them.
class participant_routes_config {
public:
    participant_routes_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The beginning of all targets, such as `/internal/txn`. Empty, or it begins with a slash and
    /// does not end in one.
    std::string prefix;

    /// The routes cannot know who can connect to the server. So name callers, or set `allow_anyone`
    /// if the server itself asks for a login or for a certificate.
    http_access access;
};

/// The answers of a `participant_server`, for use in a server of your own:
/// `POST PREFIX/NAME/try`, `/confirm` and `/cancel`.
///
/// Your server reads the request, and limits its size and the time for reading it. It writes the
/// response with all of its headers.
///
/// @par Threads   Any thread. Participants are called by the coroutine that awaits `answer`.
/// @par Lifetimes Copies share the same routes. A running coroutine keeps what it needs.
class participant_routes {
public:
    /// @throws error (`bad_config`) if a participant has no name, the prefix is malformed, a token
    ///         is too short or cannot be read, or `access` does not say who may call.
    participant_routes(participant_map served, participant_routes_config config);

    /// Whether a target is one of these routes, or would be if such a participant existed.
    bool owns(std::string_view target) const noexcept;

    /// Answers a request. A faulty request gets a status of 400 or above.
    ///
    /// @par Errors       None: an exception of a participant becomes an answer (500).
    /// @par Cancellation as the participant's `carry_out`: the coroutine then throws
    ///                   `operation_aborted`, and there is no response to send.
    asio::awaitable<http_response> answer(http_request asked) const;

    /// Requests that were answered 401.
    std::uint64_t denied() const noexcept;

private:
    std::shared_ptr<const http::participant_desk> desk_;
};

}  // namespace mortise::txn

#endif
