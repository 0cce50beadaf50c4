// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_SHIPPING_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_SHIPPING_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/answer.hpp"
#include "mortise/outbox/received.hpp"

#include <string_view>

/// The shippers. They have their own database, with addresses, and know of an order only what its
/// message says.
namespace order_server::shipping {

void make_tables(mortise::db::connection& on);
/// Does nothing if the buyer has an address already.
void note_address(mortise::db::connection& on, std::string_view buyer, std::string_view address);

/// Ships a parcel, or refuses if there is no address. Writes the report to the shop in the same
/// transaction.
mortise::outbox::answer
ship(mortise::db::connection& on, const mortise::outbox::received& received);

}  // namespace order_server::shipping

#endif
