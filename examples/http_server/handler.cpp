// SPDX-License-Identifier: BSL-1.0
#include "http_server/handler.hpp"

#include "mortise/error.hpp"

#include <utility>

namespace http_server {

asio::awaitable<response> handler::answer(const request& wish) {
    response made;
    try {
        made = co_await route(wish);
    } catch (const boost::system::system_error& wrong) {
        const bool later = wrong.code() == mortise::condition::retryable;
        made = make_response(
            later ? http::status::service_unavailable : http::status::internal_server_error,
            std::string(wrong.what()) + '\n'
        );
        if (later)
            made.set(http::field::retry_after, "1");
    }
    made.version(wish.version());
    co_return made;
}

response handler::make_response(http::status status, std::string text) {
    response made(status, 11);
    made.set(http::field::content_type, "text/plain; version=0.0.4");
    made.body() = std::move(text);
    return made;
}

}  // namespace http_server
