// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/shipping.hpp"

#include "flash_sale/order.hpp"

#include <cstdint>

namespace flash_sale::shipping {

namespace outbox = mortise::outbox;

// The table would accept a second parcel: only the inbox prevents it.
void make_tables(mortise::db::connection& on) {
    on.run("CREATE TABLE IF NOT EXISTS parcel(number INTEGER, buyer INTEGER, token INTEGER)");
}

outbox::answer ship(mortise::db::connection& on, const outbox::received& received) {
    const order order(received.message);
    const auto token = received.message.token_of("sku:42");  // of the holder that sold it
    if (!token)
        return outbox::answer::parked("it does not say under which lock it was sold");
    const auto proof = static_cast<std::int64_t>(token.value);
    on.run("INSERT INTO parcel VALUES(?1, ?2, ?3)", order.number, order.buyer, proof);
    if (order.number % refused_share == 0)  // refusing undoes the parcel
        return outbox::answer::refused(order.refused("no ship goes there"));
    return outbox::answer::done();
}

}  // namespace flash_sale::shipping
