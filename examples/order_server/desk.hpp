// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_DESK_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_DESK_HPP

#include "http_server/handler.hpp"
#include "order_server/shop.hpp"

#include <string>

namespace order_server {

/// The HTTP interface of a shop.
///
/// | request | answer |
/// | --- | --- |
/// | `POST /orders/ITEM` with `Buyer` and `Idempotency-Key` | 201 and the order's number; 402 for
/// too little money, 404 for an unknown item, 409 if it is sold out; 400 for a missing header, 422
/// for a key that was used for another item; 503 if the result is not known yet: ask again. The
/// same key always gets the same answer |
/// | `GET /orders/NUMBER` | 200 and whether it is accepted, shipped or taken back, or 404 |
/// | `GET /metrics` | counters of locks and messages, for Prometheus |
class desk : public http_server::handler {
public:
    explicit desk(shop& of) : shop_(of) {}

    asio::awaitable<void> stop() override { return shop_.stop(); }

protected:
    asio::awaitable<http_server::response> route(const http_server::request& wish) override;

private:
    asio::awaitable<http_server::response> place(order wanted);
    asio::awaitable<http_server::response> look(std::string number);

    shop& shop_;
};

}  // namespace order_server

#endif
