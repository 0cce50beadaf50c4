// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_DEPARTMENTS_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_DEPARTMENTS_HPP

#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/inbox.hpp"
#include "mortise/outbox/relay.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <filesystem>
#include <memory>

namespace flash_sale {

namespace asio = boost::asio;

/// The three parties that exchange messages. Each has its own database with an inbox.
class departments {
public:
    departments(asio::any_io_executor executor, const std::filesystem::path& folder, int process);

    /// Await this before anything else.
    asio::awaitable<void> open();

    /// Relays for the messages of the shop, and of the shippers.
    mortise::outbox::relay relay_of_shop(mortise::outbox::sink_factory to) const;
    mortise::outbox::relay relay_of_shippers(mortise::outbox::sink_factory to) const;

    /// Waits until each order and each refusal has had its effect.
    asio::awaitable<void> settled();
    asio::awaitable<void> stop();

private:
    using session_ptr = std::shared_ptr<mortise::db::sqlite>;

    const session_ptr goods_;
    const session_ptr wallets_;
    const session_ptr shippers_;

public:
    const std::shared_ptr<mortise::outbox::inbox> orders;   ///< At the shippers.
    const std::shared_ptr<mortise::outbox::inbox> returns;  ///< At the shop: items come back.
    const std::shared_ptr<mortise::outbox::inbox> refunds;  ///< At the wallets: money goes back.
};

}  // namespace flash_sale

#endif
