// SPDX-License-Identifier: BSL-1.0
#include "order_server/wish.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>

namespace order_server {

namespace asio = boost::asio;
namespace http = http_server::http;

asio::awaitable<void> wish::send(http_server::customer& by) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    http_server::response heard;
    for (;;) {
        http_server::request asked(http::verb::post, "/orders/" + item_, 11);
        asked.set("Buyer", buyer_);
        if (!key_.empty())
            asked.set("Idempotency-Key", key_);
        auto asking = by.ask(std::move(asked));
        heard = co_await std::move(asking);
        if (heard.result() != http::status::service_unavailable)
            break;
        timer.expires_after(std::chrono::milliseconds(10));
        co_await timer.async_wait(asio::deferred);
    }
    const bool same = heard.result() == answer_.result() && heard.body() == answer_.body() &&
                      heard[http::field::location] == answer_[http::field::location];
    differing_ += answers_++ > 0 && !same;
    answer_ = std::move(heard);
}

std::string wish::page() const {
    return std::string(answer_[http::field::location]);
}

}  // namespace order_server
