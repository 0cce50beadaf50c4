// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SHOP_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SHOP_HPP

#include "flash_sale/shop_database.hpp"
#include "mortise/coro/worker.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <filesystem>

namespace flash_sale {

namespace asio = boost::asio;

/// The shop as coroutines see it. SQLite blocks, so it runs on a thread of its own: it must not
/// delay the event loop, which keeps the locks alive.
///
/// @throws boost::system::system_error; with `mortise::errc::stale_token` for a writer that comes
/// too late.
class shop {
public:
    shop(asio::any_io_executor executor, const std::filesystem::path& file);

    asio::awaitable<int> read_stock();
    asio::awaitable<void> write_sale(int stock_left, int buyer);
    asio::awaitable<void> raise_fence(const mortise::fencing_token& token);
    asio::awaitable<void>
    write_sale_fenced(int stock_left, int buyer, const mortise::fencing_token& token);

private:
    shop_database database_;
    mortise::coro::worker worker_;  // after the database: its thread must end first
};

}  // namespace flash_sale

#endif
