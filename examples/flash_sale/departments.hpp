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

/// Those between whom messages go: each has a database of its own, and an inbox in it.
class departments {
public:
    departments(asio::any_io_executor executor, const std::filesystem::path& folder, int process);

    /// Before anything else.
    asio::awaitable<void> open();

    /// A relay of what the shop, or the shippers, put down.
    mortise::outbox::relay relay_of_shop(mortise::outbox::sink_factory to) const;
    mortise::outbox::relay relay_of_shippers(mortise::outbox::sink_factory to) const;

    /// Waits until each order had its effect, and each refusal.
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
