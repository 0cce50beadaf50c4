// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_REFUND_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_REFUND_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/answer.hpp"
#include "mortise/outbox/received.hpp"

/// What becomes of a sale that the shippers refuse. Goods and wallets hear of it each by itself:
/// neither can say no, so no transaction has to go over both.
namespace flash_sale::refund {

/// The item is back. It is not sold again: who would have bought it has left.
mortise::outbox::answer
take_back(mortise::db::connection& goods, const mortise::outbox::received& came);

/// The buyer has the money back.
mortise::outbox::answer
pay_back(mortise::db::connection& wallets, const mortise::outbox::received& came);

}  // namespace flash_sale::refund

#endif
