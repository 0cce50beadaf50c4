// SPDX-License-Identifier: BSL-1.0
#include "order_server/wallets.hpp"

#include "order_server/order.hpp"
#include "order_server/order_book.hpp"

namespace order_server::wallets {

namespace db = mortise::db;
namespace outbox = mortise::outbox;
namespace txn = mortise::txn;

void make_tables(db::connection& on) {
    on.run("CREATE TABLE IF NOT EXISTS wallet(buyer TEXT PRIMARY KEY, free INTEGER,"
           " reserved INTEGER DEFAULT 0)");
    on.run("CREATE TABLE IF NOT EXISTS till(one INTEGER PRIMARY KEY, euros INTEGER)");
    on.run("INSERT OR IGNORE INTO till VALUES(1, 0)");
}

void open(db::connection& on, std::string_view buyer, std::int64_t euros) {
    on.run("INSERT OR IGNORE INTO wallet(buyer, free) VALUES(?1, ?2)", buyer, euros);
}

txn::reply take_aside(db::connection& on, const txn::call& call) {
    const order wanted(call.payload);
    on.run(
        "UPDATE wallet SET free = free - ?2, reserved = reserved + ?2"
        " WHERE buyer = ?1 AND free >= ?2",
        wanted.buyer,
        wanted.euros
    );
    return on.changes() == 1 ? txn::reply::done()
                             : txn::reply::refused(std::string(order_book::no_money));
}

txn::reply pay(db::connection& on, const txn::call& call) {
    const order order(call.payload);
    on.run("UPDATE wallet SET reserved = reserved - ?2 WHERE buyer = ?1", order.buyer, order.euros);
    on.run("UPDATE till SET euros = euros + ?1", order.euros);
    return txn::reply::done();
}

txn::reply give_back(db::connection& on, const txn::call& call) {
    const order wanted(call.payload);
    on.run(
        "UPDATE wallet SET reserved = reserved - ?2, free = free + ?2 WHERE buyer = ?1",
        wanted.buyer,
        wanted.euros
    );
    return txn::reply::done();
}

outbox::answer pay_back(db::connection& on, const outbox::received& received) {
    const order order(*received.message.payload);
    on.run("UPDATE till SET euros = euros - ?1", order.euros);
    on.run("UPDATE wallet SET free = free + ?2 WHERE buyer = ?1", order.buyer, order.euros);
    return outbox::answer::done();
}

}  // namespace order_server::wallets
