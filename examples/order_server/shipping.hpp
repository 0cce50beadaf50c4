// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_SHIPPING_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_SHIPPING_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/answer.hpp"
#include "mortise/outbox/received.hpp"

#include <string_view>

/// The shippers: they have a database of their own, with addresses, and know of an order what they
/// are written.
namespace order_server::shipping {

void make_tables(mortise::db::connection& on);
/// Unless it is there.
void note_address(mortise::db::connection& on, std::string_view buyer, std::string_view address);

/// Sends a parcel on its way, or refuses to, if nobody knows where to. The shop is told, in the
/// same transaction.
mortise::outbox::answer ship(mortise::db::connection& on, const mortise::outbox::received& came);

}  // namespace order_server::shipping

#endif
