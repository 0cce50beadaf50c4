// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_ORDER_SERVER_WALLETS_HPP
#define MORTISE_EXAMPLES_ORDER_SERVER_WALLETS_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/answer.hpp"
#include "mortise/outbox/received.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/reply.hpp"

#include <cstdint>
#include <string_view>

/// The money of the buyers, and the shop's, in a database of its own.
namespace order_server::wallets {

void make_tables(mortise::db::connection& on);
/// Unless it is there.
void open(mortise::db::connection& on, std::string_view buyer, std::int64_t euros);

// Their part in the transaction of a sale: the price is taken aside, and paid or given back.
mortise::txn::reply take_aside(mortise::db::connection& on, const mortise::txn::call& what);
mortise::txn::reply pay(mortise::db::connection& on, const mortise::txn::call& what);
mortise::txn::reply give_back(mortise::db::connection& on, const mortise::txn::call& what);

/// The shippers refuse an order that is paid for.
mortise::outbox::answer
pay_back(mortise::db::connection& on, const mortise::outbox::received& came);

}  // namespace order_server::wallets

#endif
