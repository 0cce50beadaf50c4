// SPDX-License-Identifier: BSL-1.0
#include "http_server/handler.hpp"

#include "mortise/error.hpp"

#include <utility>

namespace http_server {

asio::awaitable<response> handler::answer(const request& incoming) {
    response reply;
    try {
        reply = co_await route(incoming);
    } catch (const boost::system::system_error& wrong) {
        const bool later = wrong.code() == mortise::condition::retryable;
        reply = make_response(
            later ? http::status::service_unavailable : http::status::internal_server_error,
            std::string(wrong.what()) + '\n'
        );
        if (later)
            reply.set(http::field::retry_after, "1");
    }
    reply.version(incoming.version());
    co_return reply;
}

response handler::make_response(http::status status, std::string text) {
    response reply(status, 11);
    reply.set(http::field::content_type, "text/plain; version=0.0.4");
    reply.body() = std::move(text);
    return reply;
}

}  // namespace http_server
