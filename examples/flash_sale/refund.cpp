// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/refund.hpp"

#include "flash_sale/checkout.hpp"
#include "flash_sale/order.hpp"

#include <stdexcept>

namespace flash_sale::refund {

namespace outbox = mortise::outbox;

// Both functions count, so that a second effect would show in the books.

outbox::answer take_back(mortise::db::connection& goods, const outbox::received& received) {
    const order order(received.message);
    goods.run("UPDATE sale SET returned = returned + 1 WHERE number = ?1", order.number);
    if (goods.changes() != 1)
        throw std::runtime_error("there is no such sale");
    return outbox::answer::done();
}

outbox::answer pay_back(mortise::db::connection& wallets, const outbox::received& received) {
    const order order(received.message);
    wallets.run("UPDATE till SET euros = euros - ?1", checkout::price);
    wallets.run("UPDATE wallet SET free = free + ?1 WHERE id = ?2", checkout::price, order.buyer);
    if (wallets.changes() != 1)
        throw std::runtime_error("there is no such buyer");
    return outbox::answer::done();
}

}  // namespace flash_sale::refund
