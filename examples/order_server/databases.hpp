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

/// The databases of those who take part, in the present folder: each has one of its own.
class databases {
public:
    using session_ptr = std::shared_ptr<mortise::db::sqlite>;

    explicit databases(const asio::any_io_executor& executor);

    /// Makes the tables, if they are not there.
    asio::awaitable<void> open();
    asio::awaitable<void> stop();

    /// What there is to begin with, unless it is there already.
    asio::awaitable<void> put_in_stock(std::string item, std::int64_t euros, int count);
    /// Somebody without an address can order, and gets nothing.
    asio::awaitable<void> enrol(std::string buyer, std::int64_t euros, std::string address);

    const session_ptr shop;
    const session_ptr wallets;
    const session_ptr shippers;
};

}  // namespace order_server

#endif
