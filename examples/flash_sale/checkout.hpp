// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_CHECKOUT_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_CHECKOUT_HPP

#include "mortise/db/sqlite.hpp"
#include "mortise/lease.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/txn/coordinator.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <filesystem>
#include <memory>

namespace flash_sale {

namespace asio = boost::asio;

/// The contents of the databases of round 4.
struct books {
    int stock = 0;     ///< Free for sale.
    int reserved = 0;  ///< By sales that are not decided or not finished.
    int sold = 0;
    int paid = 0;        ///< Euros of the shop.
    int in_wallets = 0;  ///< Euros of the buyers.
    int on_the_way = 0;  ///< Euros that are reserved.
};

/// Sells an item and takes the money for it, or does neither. Stock and wallets are separate
/// databases, and a transaction spans both. All processes share the log of its decisions: when one
/// dies, another finishes what it has begun.
class checkout {
public:
    static constexpr int price = 10;

    /// Creates a new shop. Every third buyer has no money.
    static void open(const std::filesystem::path& folder, int stock, int buyers);
    /// @throws boost::system::system_error
    static books read(const std::filesystem::path& folder);
    /// Finishes what is left after all buyers are gone.
    static void finish(const std::filesystem::path& folder, const char* store);

    checkout(
        asio::any_io_executor executor,
        const std::filesystem::path& folder,
        std::shared_ptr<mortise::lock_client> locks
    );

    asio::awaitable<books> look();

    /// Reserves an item and the money for it, and decides, while the lease is held. The outcome has
    /// no gid if no transaction was begun because other processes decide at present.
    asio::awaitable<mortise::txn::outcome> sell(int buyer, const mortise::lease& held);

    asio::awaitable<void> stop();

private:
    asio::awaitable<void> finish_all();

    mortise::db::sqlite goods_;
    mortise::db::sqlite wallets_;
    mortise::txn::coordinator tcc_;
    const std::shared_ptr<mortise::lock_client> locks_;
};

}  // namespace flash_sale

#endif
