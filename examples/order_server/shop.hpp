// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_SHOP_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_SHOP_HPP

#include "mortise/lease.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/txn/coordinator.hpp"
#include "order_server/databases.hpp"
#include "order_server/order.hpp"
#include "order_server/order_book.hpp"
#include "order_server/post.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace order_server {

/// Sells what is in stock, takes the money for it, and has it shipped. Several shops, also in
/// several processes, can sell from the same databases: they take the same locks, and share the log
/// of decisions.
class shop {
public:
    using entry = order_book::entry;

    /// Opens the databases in the present folder.
    explicit shop(const asio::any_io_executor& executor);

    /// Await this before anything else. Continues what an earlier shop left unfinished.
    /// @param copies how often the post hands over each message.
    asio::awaitable<void> open(int copies = 1);

    /// For adding goods and buyers.
    databases& books() { return books_; }

    /// Sells an item, refuses, or finds the earlier answer to the same order. Returns nothing if
    /// there is no such item.
    /// @throws boost::system::system_error that is `mortise::condition::retryable`, whatever goes
    /// wrong: place the order again, with the same key, until there is an answer.
    asio::awaitable<std::optional<entry>> place(order wanted);

    asio::awaitable<std::optional<entry>> find(std::int64_t number);

    /// The metrics for Prometheus.
    asio::awaitable<std::string> metrics();

    /// Releases every lock and closes the databases.
    asio::awaitable<void> stop();

private:
    asio::awaitable<entry> find_or_sell(const mortise::lease& held, const order& wanted);
    asio::awaitable<void> sell(const mortise::lease& held, const order& wanted);

    const std::shared_ptr<mortise::lock_client> locks_;
    databases books_;
    std::optional<mortise::txn::coordinator> tcc_;
    std::optional<post> post_;
};

}  // namespace order_server

#endif
