// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/checkout.hpp"

#include "flash_sale/ledger.hpp"
#include "flash_sale/order.hpp"
#include "flash_sale/sale_databases.hpp"
#include "mortise/open_store.hpp"
#include "mortise/outbox/append.hpp"
#include "mortise/txn/sqlite_participant.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace flash_sale {
namespace {

namespace db = mortise::db;
namespace txn = mortise::txn;

constexpr const char* log_file = "decisions.db";

// The stock: one item is set aside, then sold or put back. The sale appends the message to the
// shippers: they hear of it if and only if the sale is committed.

txn::reply set_aside(db::connection& on, const txn::call&) {
    on.run("UPDATE item SET stock = stock - 1, reserved = reserved + 1 WHERE stock > 0");
    return on.changes() == 1 ? txn::reply::done() : txn::reply::refused("sold out");
}
int number_sale(db::connection& on) {
    on.run("UPDATE item SET reserved = reserved - 1, sold = sold + 1");
    auto row = on.query("SELECT sold FROM item");
    row.step();
    return static_cast<int>(row.integer(0));
}
txn::reply hand_out(db::connection& on, const txn::call& call) {
    const order order(number_sale(on), std::stoi(call.payload));
    on.run("INSERT INTO sale VALUES(?1, ?2, 0)", order.number, order.buyer);
    auto message = order.placed();
    for (const auto& each : call.locks)
        message.under(each.name, each.token);
    mortise::outbox::append(on, message);
    return txn::reply::done();
}
txn::reply put_back(db::connection& on, const txn::call&) {
    on.run("UPDATE item SET stock = stock + 1, reserved = reserved - 1");
    return txn::reply::done();
}

// The wallets: the price is set aside, then goes to the shop or back to the buyer.

txn::reply take_aside(db::connection& on, const txn::call& call) {
    on.run(
        "UPDATE wallet SET free = free - ?1, reserved = reserved + ?1 WHERE id = ?2 AND free >= ?1",
        checkout::price,
        std::stoi(call.payload)
    );
    return on.changes() == 1 ? txn::reply::done() : txn::reply::refused("not enough money");
}
txn::reply pay(db::connection& on, const txn::call& call) {
    const int buyer = std::stoi(call.payload);
    on.run("UPDATE wallet SET reserved = reserved - ?1 WHERE id = ?2", checkout::price, buyer);
    on.run("UPDATE till SET euros = euros + ?1", checkout::price);
    return txn::reply::done();
}
txn::reply give_back(db::connection& on, const txn::call& call) {
    on.run(
        "UPDATE wallet SET free = free + ?1, reserved = reserved - ?1 WHERE id = ?2",
        checkout::price,
        std::stoi(call.payload)
    );
    return txn::reply::done();
}

txn::coordinator_config config_for(
    const std::filesystem::path& folder,
    std::shared_ptr<mortise::lock_client> locks,
    db::sqlite& goods,
    db::sqlite& wallets
) {
    txn::coordinator_config config;
    config.log = folder / log_file;
    config.locks = std::move(locks);
    // A barrier protects the work of each participant: it lets each call work once, and refuses the
    // try of a buyer whose lock has passed on.
    config.participants.emplace(
        "stock", std::make_shared<txn::sqlite_participant>(goods, set_aside, hand_out, put_back)
    );
    config.participants.emplace(
        "wallet", std::make_shared<txn::sqlite_participant>(wallets, take_aside, pay, give_back)
    );
    return config;
}

asio::awaitable<void> pause() {
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(20));
    co_await timer.async_wait(asio::deferred);
}

asio::awaitable<void> make_tables(db::sqlite& goods, db::sqlite& wallets, int stock, int buyers) {
    co_await goods.async_run([stock](db::connection& on) {
        on.run("CREATE TABLE item(stock INTEGER, reserved INTEGER, sold INTEGER)");
        on.run("INSERT INTO item VALUES(?1, 0, 0)", stock);
        on.run("CREATE TABLE sale(number INTEGER PRIMARY KEY, buyer INTEGER, returned INTEGER)");
    });
    co_await wallets.async_run([buyers](db::connection& on) {
        on.run("CREATE TABLE wallet(id INTEGER PRIMARY KEY, free INTEGER, reserved INTEGER)");
        on.run("CREATE TABLE till(euros INTEGER)");
        on.run("INSERT INTO till VALUES(0)");
        for (int each = 0; each < buyers; ++each)
            on.run("INSERT INTO wallet VALUES(?1, ?2, 0)", each, each % 3 == 2 ? 0 : 100);
    });
}

asio::awaitable<void> read_books(db::sqlite& goods, db::sqlite& wallets, books& into) {
    co_await goods.async_read([&into](db::connection& on) {
        auto row = on.query("SELECT stock, reserved, sold FROM item");
        row.step();
        into.stock = static_cast<int>(row.integer(0));
        into.reserved = static_cast<int>(row.integer(1));
        into.sold = static_cast<int>(row.integer(2));
    });
    co_await wallets.async_read([&into](db::connection& on) {
        auto row =
            on.query("SELECT sum(free), sum(reserved), (SELECT euros FROM till) FROM wallet");
        row.step();
        into.in_wallets = static_cast<int>(row.integer(0));
        into.on_the_way = static_cast<int>(row.integer(1));
        into.paid = static_cast<int>(row.integer(2));
    });
}

}  // namespace

void checkout::open(const std::filesystem::path& folder, int stock, int buyers) {
    asio::io_context context;
    db::sqlite goods(context.get_executor(), database_in(folder, goods_file));
    db::sqlite wallets(context.get_executor(), database_in(folder, wallets_file));
    asio::co_spawn(context, make_tables(goods, wallets, stock, buyers), rethrow);
    context.run();
}

books checkout::read(const std::filesystem::path& folder) {
    asio::io_context context;
    db::sqlite goods(context.get_executor(), database_in(folder, goods_file));
    db::sqlite wallets(context.get_executor(), database_in(folder, wallets_file));
    books found;
    asio::co_spawn(context, read_books(goods, wallets, found), rethrow);
    context.run();
    return found;
}

void checkout::finish(const std::filesystem::path& folder, const char* store) {
    asio::io_context context;
    const auto locks =
        std::make_shared<mortise::lock_client>(context.get_executor(), mortise::open_store(store));
    checkout last(context.get_executor(), folder, locks);
    asio::co_spawn(context, last.finish_all(), rethrow);
    context.run();
}

checkout::checkout(
    asio::any_io_executor executor,
    const std::filesystem::path& folder,
    std::shared_ptr<mortise::lock_client> locks
)
    : goods_(executor, database_in(folder, goods_file)),
      wallets_(executor, database_in(folder, wallets_file)),
      tcc_(executor, config_for(folder, locks, goods_, wallets_)),
      locks_(std::move(locks)) {}

asio::awaitable<books> checkout::look() {
    books found;
    co_await read_books(goods_, wallets_, found);
    co_return found;
}

asio::awaitable<txn::outcome> checkout::sell(int buyer, const mortise::lease& held) {
    txn::transaction transaction;
    transaction.add("stock", std::to_string(buyer));
    transaction.add("wallet", std::to_string(buyer));
    transaction.under(held);
    auto running = tcc_.async_run(std::move(transaction), asio::as_tuple(asio::deferred));
    auto [failed, outcome] = co_await std::move(running);
    if (failed && failed != txn::errc::standby && failed != txn::errc::stepped_down)
        throw boost::system::system_error(failed);
    // The process that takes over from this one knows the outcome, or soon will.
    while (outcome.unknown() && outcome.gid()) {
        co_await pause();
        outcome = co_await tcc_.async_outcome(outcome.gid());
    }
    co_return outcome;
}

asio::awaitable<void> checkout::finish_all() {
    for (bool open = true; open;) {
        co_await pause();
        const auto left = co_await tcc_.async_list(txn::list_filter::unfinished, 0, 1);
        open = tcc_.stats().partitions == 0 || !left.empty();
    }
    co_await stop();
    co_await locks_->async_stop();
}

asio::awaitable<void> checkout::stop() {
    co_await tcc_.async_stop();
}

}  // namespace flash_sale
