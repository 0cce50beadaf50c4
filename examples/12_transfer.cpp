// SPDX-License-Identifier: BSL-1.0
// Moves money from an account in one bank to an account in another, or not at all: never half of
// it, whatever fails or dies meanwhile. Each bank has its own database. The coordinator keeps its
// decisions in a third.
//
// Prints:
//     30 euros: confirmed
//     900 euros: cancelled, not enough money
//     alice has 70, bob has 130

#include "mortise/db/sqlite.hpp"
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/sqlite_participant.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

namespace asio = boost::asio;
namespace db = mortise::db;
namespace txn = mortise::txn;

//[tcc_participant
// The payer's bank: reserves the money at once, and keeps it until the decision.
txn::reply reserve(db::connection& on, const txn::call& order) {
    on.run(
        "UPDATE account SET free = free - ?1, reserved = reserved + ?1 WHERE free >= ?1",
        std::stoll(order.payload)
    );
    return on.changes() == 1 ? txn::reply::done() : txn::reply::refused("not enough money");
}
txn::reply pay(db::connection& on, const txn::call& order) {
    on.run("UPDATE account SET reserved = reserved - ?1", std::stoll(order.payload));
    return txn::reply::done();
}
txn::reply give_back(db::connection& on, const txn::call& order) {
    const auto euros = std::stoll(order.payload);
    on.run("UPDATE account SET free = free + ?1, reserved = reserved - ?1", euros);
    return txn::reply::done();
}

// A barrier protects each of them, in the same transaction: a call that comes twice, late or out
// of order does no harm.
std::shared_ptr<txn::participant> payer(db::sqlite& bank) {
    return std::make_shared<txn::sqlite_participant>(bank, reserve, pay, give_back);
}
//]

// The payee's bank has nothing to reserve.
txn::reply nothing(db::connection&, const txn::call&) {
    return txn::reply::done();
}
txn::reply receive(db::connection& on, const txn::call& order) {
    on.run("UPDATE account SET free = free + ?1", std::stoll(order.payload));
    return txn::reply::done();
}
std::shared_ptr<txn::participant> payee(db::sqlite& bank) {
    return std::make_shared<txn::sqlite_participant>(bank, nothing, receive, nothing);
}

//[tcc
asio::awaitable<void> transfer(txn::coordinator& tcc, std::int64_t euros) {
    txn::transaction transaction;
    transaction.add("alice's bank", std::to_string(euros));
    transaction.add("bob's bank", std::to_string(euros));
    const txn::outcome outcome = co_await tcc.async_run(std::move(transaction));
    std::cout << euros << " euros: ";
    if (outcome.confirmed())
        std::cout << "confirmed" << std::endl;
    else if (outcome.cancelled())
        std::cout << "cancelled, " << outcome.text() << std::endl;
    else
        std::cout << "unknown: ask for " << outcome.gid().text() << " later" << std::endl;
    const auto settled = co_await tcc.async_settle(outcome.gid());  // both banks have done it
}
//]

void open_account(db::connection& on) {
    on.run("CREATE TABLE IF NOT EXISTS account(free INTEGER NOT NULL, reserved INTEGER NOT NULL)");
    on.run("DELETE FROM account");
    on.run("INSERT INTO account VALUES(100, 0)");
}

std::int64_t look(db::connection& on) {
    auto row = on.query("SELECT free FROM account");
    return row.step() ? row.integer(0) : 0;
}

asio::awaitable<void> trade(db::sqlite& alice, db::sqlite& bob, txn::coordinator& tcc) {
    co_await alice.async_run(&open_account);
    co_await bob.async_run(&open_account);
    co_await transfer(tcc, 30);
    co_await transfer(tcc, 900);
    const auto left = co_await alice.async_read(&look);
    const auto right = co_await bob.async_read(&look);
    std::cout << "alice has " << left << ", bob has " << right << std::endl;
    co_await tcc.async_stop();
    co_await alice.async_stop();
    co_await bob.async_stop();
}

db::sqlite_config at(const char* path) {
    db::sqlite_config config;
    config.path = path;
    return config;
}

void rethrow(const std::exception_ptr& thrown) {
    if (thrown)
        std::rethrow_exception(thrown);
}

int main() {
    asio::io_context context;
    db::sqlite alice(context.get_executor(), at("alice.db"));
    db::sqlite bob(context.get_executor(), at("bob.db"));
    txn::coordinator_config config;
    config.log = "decisions.db";
    config.participants.emplace("alice's bank", payer(alice));
    config.participants.emplace("bob's bank", payee(bob));
    txn::coordinator tcc(context.get_executor(), config);
    asio::co_spawn(context, trade(alice, bob, tcc), rethrow);
    context.run();
}
