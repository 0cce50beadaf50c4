// SPDX-License-Identifier: BSL-1.0
#include "order_server/stock.hpp"

#include "mortise/outbox/append.hpp"
#include "order_server/order.hpp"
#include "order_server/order_book.hpp"

namespace order_server::stock {

namespace db = mortise::db;
namespace outbox = mortise::outbox;
namespace txn = mortise::txn;

void make_table(db::connection& on) {
    on.run("CREATE TABLE IF NOT EXISTS item(name TEXT PRIMARY KEY, euros INTEGER, free INTEGER,"
           " reserved INTEGER DEFAULT 0, sold INTEGER DEFAULT 0)");
}

void put(db::connection& on, std::string_view item, std::int64_t euros, int count) {
    on.run("INSERT OR IGNORE INTO item(name, euros, free) VALUES(?1, ?2, ?3)", item, euros, count);
}

std::optional<std::int64_t> price_of(db::connection& on, std::string_view item) {
    auto row = on.query("SELECT euros FROM item WHERE name = ?1", item);
    return row.step() ? std::optional(row.integer(0)) : std::nullopt;
}

txn::reply set_aside(db::connection& on, const txn::call& call) {
    const order wanted(call.payload);
    if (!order_book::begin(on, wanted, call.gid))
        return txn::reply::refused("the key is in use");
    on.run(
        "UPDATE item SET free = free - 1, reserved = reserved + 1 WHERE name = ?1 AND free > 0",
        wanted.item
    );
    return on.changes() == 1 ? txn::reply::done()
                             : txn::reply::refused(std::string(order_book::sold_out));
}

txn::reply hand_out(db::connection& on, const txn::call& call) {
    const order accepted = order_book::accept(on, order(call.payload));
    on.run(
        "UPDATE item SET reserved = reserved - 1, sold = sold + 1 WHERE name = ?1", accepted.item
    );
    auto message = accepted.about(topic::orders);
    for (const auto& each : call.locks)
        message.under(each.name, each.token);
    outbox::append(on, message);
    return txn::reply::done();
}

txn::reply put_back(db::connection& on, const txn::call& call) {
    const order wanted(call.payload);
    order_book::forget(on, wanted);
    on.run("UPDATE item SET reserved = reserved - 1, free = free + 1 WHERE name = ?1", wanted.item);
    return txn::reply::done();
}

outbox::answer hear(db::connection& on, const outbox::received& received) {
    const order order(*received.message.payload);
    if (received.message.topic == topic::shipments) {
        order_book::hear(on, order, order_book::shipped);
    } else {
        order_book::hear(on, order, order_book::taken_back);
        on.run("UPDATE item SET sold = sold - 1, free = free + 1 WHERE name = ?1", order.item);
    }
    return outbox::answer::done();
}

}  // namespace order_server::stock
