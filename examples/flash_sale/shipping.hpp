// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SHIPPING_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SHIPPING_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/answer.hpp"
#include "mortise/outbox/received.hpp"

/// The shippers: they have a database of their own, and know of a sale what they are written.
namespace flash_sale::shipping {

/// One order in so many is for a place where they do not go.
inline constexpr int refused_share = 7;

void make_tables(mortise::db::connection& on);

/// Sends a parcel on its way, or refuses to: then the shop is told, in the same transaction.
mortise::outbox::answer ship(mortise::db::connection& on, const mortise::outbox::received& came);

}  // namespace flash_sale::shipping

#endif
