// SPDX-License-Identifier: BSL-1.0
#include "order_server/shipping.hpp"

#include "mortise/outbox/append.hpp"
#include "order_server/order.hpp"

#include <cstdint>

namespace order_server::shipping {

namespace db = mortise::db;
namespace outbox = mortise::outbox;

// The table would accept a second parcel: only the inbox prevents it.
void make_tables(db::connection& on) {
    on.run("CREATE TABLE IF NOT EXISTS address(buyer TEXT PRIMARY KEY, street TEXT)");
    on.run("CREATE TABLE IF NOT EXISTS parcel(number INTEGER, item TEXT, street TEXT,"
           " token INTEGER)");
}

void note_address(db::connection& on, std::string_view buyer, std::string_view address) {
    on.run("INSERT OR IGNORE INTO address VALUES(?1, ?2)", buyer, address);
}

outbox::answer ship(db::connection& on, const outbox::received& received) {
    const order order(*received.message.payload);
    const auto token =
        received.message.token_of(order.lock());  // of the lock under which it was sold
    if (!token)
        return outbox::answer::parked("it does not say under which lock it was sold");
    on.run(
        "INSERT INTO parcel SELECT ?2, ?3, street, ?4 FROM address WHERE buyer = ?1",
        order.buyer,
        order.number,
        order.item,
        static_cast<std::int64_t>(token.value)
    );
    if (on.changes() == 0)
        return outbox::answer::refused(order.about(topic::refusals));
    outbox::append(on, order.about(topic::shipments));
    return outbox::answer::done();
}

}  // namespace order_server::shipping
