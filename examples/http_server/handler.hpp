// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_HTTP_SERVER_HANDLER_HPP
#define MORTISE_EXAMPLES_HTTP_SERVER_HANDLER_HPP

#include "http_server/http_io.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>

namespace http_server {

/// What a server does with the requests that it receives.
class handler {
public:
    virtual ~handler() = default;

    /// Turns a failure into an answer, too: 503 if the same request may succeed later, else 500.
    asio::awaitable<response> answer(const request& incoming);

    /// Finishes begun work and releases every lock. Called when no request is under way.
    virtual asio::awaitable<void> stop() = 0;

protected:
    virtual asio::awaitable<response> route(const request& incoming) = 0;

    static response make_response(http::status status, std::string text);
};

}  // namespace http_server

#endif
