// SPDX-License-Identifier: BSL-1.0
#include "order_server/order_book.hpp"

#include <stdexcept>

namespace order_server::order_book {
namespace {

namespace db = mortise::db;

std::optional<entry> first_of(db::statement row) {
    if (!row.step())
        return std::nullopt;
    entry found;
    found.number = row.integer(0);
    found.item = row.text(1);
    found.state = row.text(2);
    found.under = mortise::txn::gid::parse(row.text(3)).value_or(mortise::txn::gid());
    return found;
}

}  // namespace

void make_table(db::connection& on) {
    on.run("CREATE TABLE IF NOT EXISTS book(number INTEGER PRIMARY KEY, buyer TEXT, key TEXT,"
           " item TEXT, state TEXT, gid TEXT, heard INTEGER DEFAULT 0, UNIQUE(buyer, key))");
}

std::optional<entry> find(db::connection& on, const order& order) {
    return first_of(on.query(
        "SELECT number, item, state, gid FROM book WHERE buyer = ?1 AND key = ?2",
        order.buyer,
        order.key
    ));
}

std::optional<entry> find(db::connection& on, std::int64_t number) {
    return first_of(on.query("SELECT number, item, state, gid FROM book WHERE number = ?1", number)
    );
}

bool begin(db::connection& on, const order& order, const mortise::txn::gid& under) {
    on.run(
        "INSERT OR IGNORE INTO book(buyer, key, item, state, gid) VALUES(?1, ?2, ?3, ?4, ?5)",
        order.buyer,
        order.key,
        order.item,
        pending,
        under.text()
    );
    return on.changes() == 1;
}

order accept(db::connection& on, order order) {
    on.run(
        "UPDATE book SET state = ?3 WHERE buyer = ?1 AND key = ?2", order.buyer, order.key, accepted
    );
    order.number = find(on, order).value().number;
    return order;
}

void forget(db::connection& on, const order& order) {
    on.run("DELETE FROM book WHERE buyer = ?1 AND key = ?2", order.buyer, order.key);
}

void refuse(db::connection& on, const order& order, std::string_view why) {
    on.run(
        "INSERT OR IGNORE INTO book(buyer, key, item, state) VALUES(?1, ?2, ?3, ?4)",
        order.buyer,
        order.key,
        order.item,
        why
    );
}

void hear(db::connection& on, const order& order, std::string_view state) {
    on.run("UPDATE book SET state = ?2, heard = heard + 1 WHERE number = ?1", order.number, state);
    if (on.changes() != 1)
        throw std::runtime_error("there is no order " + std::to_string(order.number));
}

}  // namespace order_server::order_book
