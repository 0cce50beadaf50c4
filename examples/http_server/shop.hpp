// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_HTTP_SERVER_SHOP_HPP
#define MORTISE_EXAMPLES_HTTP_SERVER_SHOP_HPP

#include "http_server/handler.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace http_server {

/// The work of the server: sells what is in stock. Several shops, also in several processes, can
/// sell from the same books because they take the same locks.
///
/// | request | answer |
/// | --- | --- |
/// | `POST /buy/ITEM` | 200, or 409 if none is left, 404 if there is no such item, 503 if the lock
/// is not free in time |
/// | `GET /stock/ITEM` | 200 and a number, or 404 |
/// | `GET /metrics` | the counters of the lock client, for Prometheus |
class shop : public handler {
public:
    /// Opens `locks.db` and `books.db` in the present folder.
    shop(const asio::any_io_executor& executor, std::string label);

    /// Creates the tables if they do not exist. Await this before anything else.
    asio::awaitable<void> open();
    asio::awaitable<void> put_in_stock(std::string item, std::int64_t count);

    /// Releases every lock and closes the books.
    asio::awaitable<void> stop() override;

private:
    asio::awaitable<response> route(const request& incoming) override;
    asio::awaitable<response> buy(std::string item);
    asio::awaitable<std::string>
    sell_one(std::string item, mortise::fencing_token token, http::status& status);
    asio::awaitable<response> look(std::string item);

    std::string label_;
    mortise::lock_client locks_;
    mortise::db::sqlite books_;
};

}  // namespace http_server

#endif
