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

/// The money of the buyers and of the shop, in a separate database.
namespace order_server::wallets {

void make_tables(mortise::db::connection& on);
/// Does nothing if the buyer has a wallet.
void open(mortise::db::connection& on, std::string_view buyer, std::int64_t euros);

// The wallets' branch of a sale: the price is set aside, then paid or given back.
mortise::txn::reply take_aside(mortise::db::connection& on, const mortise::txn::call& call);
mortise::txn::reply pay(mortise::db::connection& on, const mortise::txn::call& call);
mortise::txn::reply give_back(mortise::db::connection& on, const mortise::txn::call& call);

/// Handles a refusal by the shippers of an order that is paid for.
mortise::outbox::answer
pay_back(mortise::db::connection& on, const mortise::outbox::received& received);

}  // namespace order_server::wallets

#endif
