// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/shop.hpp"

#include <boost/asio/deferred.hpp>

#include <utility>

namespace flash_sale {
namespace {

void require(const mortise::error_code& code) {
    if (code)
        throw boost::system::system_error(code);
}

}  // namespace

shop::shop(asio::any_io_executor executor, const std::filesystem::path& file)
    : database_(file), worker_(std::move(executor)) {}

// The lambdas capture only references: g++ 12 destroys a temporary closure that owns something
// twice if it is part of a `co_await` expression.

asio::awaitable<int> shop::read_stock() {
    co_return co_await worker_.async_run([this] { return database_.read_stock(); });
}

asio::awaitable<void> shop::write_sale(int stock_left, int buyer) {
    co_await worker_.async_run([this, stock_left, buyer] {
        database_.write_sale(stock_left, buyer);
    });
}

asio::awaitable<void> shop::raise_fence(const mortise::fencing_token& token) {
    require(co_await worker_.async_run([this, &token] { return database_.raise_fence(token); }));
}

asio::awaitable<void>
shop::write_sale_fenced(int stock_left, int buyer, const mortise::fencing_token& token) {
    require(co_await worker_.async_run([this, stock_left, buyer, &token] {
        return database_.write_sale_fenced(stock_left, buyer, token);
    }));
}

}  // namespace flash_sale
