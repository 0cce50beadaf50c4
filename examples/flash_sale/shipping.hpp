// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_SHIPPING_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_SHIPPING_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/answer.hpp"
#include "mortise/outbox/received.hpp"

/// The shippers. They have their own database, and know of a sale only what its message says.
namespace flash_sale::shipping {

/// One order in this many goes to a place that they do not serve.
inline constexpr int refused_share = 7;

void make_tables(mortise::db::connection& on);

/// Ships a parcel, or refuses it. A refusal tells the shop in the same transaction.
mortise::outbox::answer
ship(mortise::db::connection& on, const mortise::outbox::received& received);

}  // namespace flash_sale::shipping

#endif
