// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_DATABASES_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_DATABASES_HPP

#include "mortise/db/sqlite.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace order_server {

namespace asio = boost::asio;

/// The databases of all parties, in the present folder. Each party has its own.
class databases {
public:
    using session_ptr = std::shared_ptr<mortise::db::sqlite>;

    explicit databases(const asio::any_io_executor& executor);

    /// Creates the tables if they do not exist.
    asio::awaitable<void> open();
    asio::awaitable<void> stop();

    /// Adds an item, unless it exists.
    asio::awaitable<void> put_in_stock(std::string item, std::int64_t euros, int count);
    /// Adds a buyer, unless it exists. A buyer without an address can order, but receives nothing.
    asio::awaitable<void> enrol(std::string buyer, std::int64_t euros, std::string address);

    const session_ptr shop;
    const session_ptr wallets;
    const session_ptr shippers;
};

}  // namespace order_server

#endif
