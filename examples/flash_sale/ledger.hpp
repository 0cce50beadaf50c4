// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_LEDGER_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_LEDGER_HPP

#include "mortise/db/sqlite.hpp"

#include <boost/asio/awaitable.hpp>

#include <exception>

namespace flash_sale {

namespace asio = boost::asio;

/// A handler for `co_spawn`: the coroutine's exception leaves `context.run()`.
inline void rethrow(const std::exception_ptr& thrown) {
    if (thrown)
        std::rethrow_exception(thrown);
}

/// The contents of the databases after round 4: the sales, and the messages about them.
struct ledger {
    int sold = 0;
    int ordered = 0;  ///< Messages that the shop has appended.
    int shipped = 0;
    int refused = 0;     ///< Messages that the shippers have appended.
    int taken_back = 0;  ///< By the shop.
    int twice = 0;       ///< Surplus parcels and returns.
    int paid = 0;        ///< Euros of the shop.

    int arrived() const { return shipped + refused; }

    /// Whether no message is on its way.
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
