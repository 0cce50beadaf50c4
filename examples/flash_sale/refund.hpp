// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_EXAMPLES_FLASH_SALE_REFUND_HPP
#define MORTISE_EXAMPLES_FLASH_SALE_REFUND_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/answer.hpp"
#include "mortise/outbox/received.hpp"

/// What happens after the shippers refuse a sale. Goods and wallets each receive the message:
/// neither can refuse it, so no transaction needs to span both.
namespace flash_sale::refund {

/// Puts the item back. It is not sold again: the buyers who wanted it have left.
mortise::outbox::answer
take_back(mortise::db::connection& goods, const mortise::outbox::received& received);

/// Gives the money back to the buyer.
mortise::outbox::answer
pay_back(mortise::db::connection& wallets, const mortise::outbox::received& received);

}  // namespace flash_sale::refund

#endif
