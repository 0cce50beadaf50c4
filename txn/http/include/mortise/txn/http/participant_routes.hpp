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

/// Where routes are found in a server, and who may call.
class participant_routes_config {
public:
    participant_routes_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// What the targets begin with, such as `/internal/txn`; empty, or it begins with a slash and
    /// does not end in one.
    std::string prefix;

    /// Nobody knows here who can connect to the server. So it has callers, or allows anyone: if the
    /// server itself has asked for a login, or for a certificate.
    http_access access;
};

/// What a `participant_server` answers, for a server of the user's own: `POST PREFIX/NAME/try`,
/// `/confirm` and `/cancel`.
///
/// The server reads the request, with limits to its size and to the time that takes, and writes the
/// response with all of its headers.
///
/// @par Threads   Any. Participants are called by the coroutine that asks.
/// @par Lifetimes Copies are the same routes. A coroutine that runs keeps what it needs.
class participant_routes {
public:
    /// @throws error (`bad_config`) if a participant has no name, the prefix is none, a token is
    ///         too short or cannot be read, or nobody has said who may call.
    participant_routes(participant_map served, participant_routes_config config);

    /// Whether a target is one of these routes, or would be, were there such a participant.
    bool owns(std::string_view target) const noexcept;

    /// The response to a request. Whatever is wrong with one is told by a status of 400 or above.
    ///
    /// @par Errors       None: what a participant throws is an answer (500).
    /// @par Cancellation as the participant's `carry_out`: the coroutine then throws
    ///                   `operation_aborted`, and whoever has called learns nothing.
    asio::awaitable<http_response> answer(http_request asked) const;

    /// Requests that were answered 401.
    std::uint64_t denied() const noexcept;

private:
    std::shared_ptr<const http::participant_desk> desk_;
};

}  // namespace mortise::txn

#endif
