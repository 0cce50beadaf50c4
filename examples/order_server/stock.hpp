// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_STOCK_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_STOCK_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/answer.hpp"
#include "mortise/outbox/received.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/reply.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

/// The goods of the shop, in the same database as its book of orders.
namespace order_server::stock {

void make_table(mortise::db::connection& on);
/// Does nothing if the item exists.
void put(mortise::db::connection& on, std::string_view item, std::int64_t euros, int count);
/// Nothing if there is no such item.
std::optional<std::int64_t> price_of(mortise::db::connection& on, std::string_view item);

// The stock's branch of a sale: one item is set aside, then sold or put back. The transaction that
// sells it also appends the message to the shippers.
mortise::txn::reply set_aside(mortise::db::connection& on, const mortise::txn::call& call);
mortise::txn::reply hand_out(mortise::db::connection& on, const mortise::txn::call& call);
mortise::txn::reply put_back(mortise::db::connection& on, const mortise::txn::call& call);

/// Handles a report of the shippers: on its way, or to be taken back.
mortise::outbox::answer
hear(mortise::db::connection& on, const mortise::outbox::received& received);

}  // namespace order_server::stock

#endif
