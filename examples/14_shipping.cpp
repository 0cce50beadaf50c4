// SPDX-License-Identifier: BSL-1.0
// A shop writes a message about each sale to its shippers, in the transaction of the sale. The
// shippers write back what they refuse to ship, and the shop takes that sale back. Each message has
// its effect exactly once, whatever fails or dies meanwhile.
//
// Prints:
//     sold: chair, piano, lamp
//     shipped: chair, lamp
//     taken back: piano

#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/append.hpp"
#include "mortise/outbox/handler_sink.hpp"
#include "mortise/outbox/inbox.hpp"
#include "mortise/outbox/relay.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
namespace db = mortise::db;
namespace outbox = mortise::outbox;

using session_ptr = std::shared_ptr<db::sqlite>;

//[sale
// The sale and the message about it are committed together, or neither is.
asio::awaitable<void> sell(db::sqlite& shop, std::string_view item) {
    const auto sale = [item](db::connection& on) {
        on.run("INSERT INTO sale(what) VALUES(?1)", item);
        const std::string name(item);
        outbox::append(on, outbox::message("sales", "order of " + name, name));
    };
    co_await shop.async_run(sale);
}
//]

//[shipping
// The shippers note a parcel. If they refuse, the note is undone and the shop gets a message.
outbox::answer ship(db::connection& on, const outbox::received& received) {
    const std::string& item = *received.message.payload;
    on.run("INSERT INTO parcel(what) VALUES(?1)", std::string_view(item));
    if (item == "piano")
        return outbox::answer::refused(outbox::message("refusals", received.message.key, item));
    return outbox::answer::done();
}

outbox::answer take_back(db::connection& on, const outbox::received& received) {
    on.run(
        "UPDATE sale SET taken_back = 1 WHERE what = ?1",
        std::string_view(*received.message.payload)
    );
    return outbox::answer::done();
}
//]

outbox::inbox inbox_of(const session_ptr& whose, outbox::inbox_handler handler) {
    outbox::inbox_config config;
    config.by = outbox::inbox_config::kind::ids;
    config.handler = std::move(handler);
    return {whose->get_executor(), whose, std::move(config)};
}

//[relay
// Both sides share one process here. With `kafka::make_kafka_sink` they can be apart.
outbox::relay relay_of(db::sqlite& whose, outbox::inbox& to) {
    outbox::relay_config config;
    config.database = whose.path();
    config.sink = outbox::make_handler_sink(
        [&to](const outbox::outgoing& sent) -> asio::awaitable<outbox::verdict> {
            std::vector<outbox::received> messages;
            messages.emplace_back(sent.message.topic, sent.row, sent.message);
            auto delivering = to.async_receive(std::move(messages));
            co_await std::move(delivering);
            co_return outbox::verdict::done();
        }
    );
    return {whose.get_executor(), std::move(config)};
}
//]

asio::awaitable<void> print(const char* title, db::sqlite& from, const char* sql) {
    const auto list = [sql](db::connection& on) {
        std::string all;
        for (auto row = on.query(sql); row.step();)
            all += (all.empty() ? "" : ", ") + row.text(0);
        return all;
    };
    const auto all = co_await from.async_read(list);
    std::cout << title << ": " << all << std::endl;
}

asio::awaitable<void> trade(session_ptr shop, session_ptr shippers) {
    const auto sales = [](db::connection& on) {
        on.run("CREATE TABLE sale(what TEXT, taken_back INTEGER DEFAULT 0)");
    };
    co_await shop->async_run(sales);
    const auto parcels = [](db::connection& on) { on.run("CREATE TABLE parcel(what TEXT)"); };
    co_await shippers->async_run(parcels);

    auto refusals = inbox_of(shop, &take_back);
    auto orders = inbox_of(shippers, &ship);
    auto to_shippers = relay_of(*shop, orders);
    auto to_shop = relay_of(*shippers, refusals);
    for (const char* each : {"chair", "piano", "lamp"})
        co_await sell(*shop, each);
    co_await to_shippers.async_drained();
    co_await to_shop.async_drained();

    co_await print("sold", *shop, "SELECT what FROM sale");
    co_await print("shipped", *shippers, "SELECT what FROM parcel ORDER BY what");
    co_await print("taken back", *shop, "SELECT what FROM sale WHERE taken_back = 1");
    co_await to_shippers.async_stop();
    co_await to_shop.async_stop();
}

session_ptr open(asio::io_context& context, const char* path) {
    db::sqlite_config config;
    config.path = path;
    return std::make_shared<db::sqlite>(context.get_executor(), std::move(config));
}

void rethrow(const std::exception_ptr& thrown) {
    if (thrown)
        std::rethrow_exception(thrown);
}

int main() {
    asio::io_context context;
    asio::co_spawn(context, trade(open(context, "shop.db"), open(context, "ship.db")), rethrow);
    context.run();
}
