// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_LEDGER_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_LEDGER_HPP

#include "mortise/db/sqlite.hpp"

#include <boost/asio/awaitable.hpp>

#include <exception>

namespace flash_sale {

namespace asio = boost::asio;

/// For `co_spawn`: what a coroutine throws comes out of `context.run()`.
inline void rethrow(const std::exception_ptr& thrown) {
    if (thrown)
        std::rethrow_exception(thrown);
}

/// What the databases say of the sales of round 4, and of the messages about them.
struct ledger {
    int sold = 0;
    int ordered = 0;  ///< Messages that the shop has put down.
    int shipped = 0;
    int refused = 0;     ///< Messages that the shippers have put down.
    int taken_back = 0;  ///< By the shop.
    int twice = 0;       ///< Parcels and returns that are one too many.
    int paid = 0;        ///< Euros that the shop has.

    int arrived() const { return shipped + refused; }

    /// Nothing is on its way.
    bool settled() const;
};

/// @throws boost::system::system_error
asio::awaitable<void> read_ledger(
    mortise::db::sqlite& goods,
    mortise::db::sqlite& wallets,
    mortise::db::sqlite& shippers,
    ledger& into
);

}  // namespace flash_sale

#endif
