// SPDX-License-Identifier: BSL-1.0
// Moves money from an account at PostgreSQL to an account at MariaDB, or not at all, by two-phase
// commit: both updates are prepared, the coordinator decides, both are committed. Nothing is
// reserved, and nobody sees an update before the decision.
//
//     22_xa_transfer postgresql://USER:PASSWORD@HOST/DATABASE mariadb://USER:PASSWORD@HOST/DATABASE
//
// PostgreSQL must allow it: max_prepared_transactions is 0 by default.
//
// Prints:
//     30 euros: confirmed, alice keeps 70
//     900 euros: cancelled, not enough money
//     alice has 70, bob has 130

#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/xa_mysql.hpp"
#include "mortise/txn/xa_postgres.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace db = mortise::db;
namespace txn = mortise::txn;

//[xa_work
// The work of a branch, in the transaction that is prepared then. It gives what is left.
auto pay(std::int64_t euros) {
    return txn::on_postgres([euros](db::postgres_connection& on) -> asio::awaitable<std::int64_t> {
        auto paying = on.query(
            "UPDATE xa_account SET euros = euros - $1 WHERE id = 1 AND euros >= $1"
            " RETURNING euros",
            euros
        );
        const auto paid = co_await std::move(paying);
        if (paid.empty())
            throw txn::refusal("not enough money");
        co_return paid.first().integer("euros");
    });
}

auto receive(std::int64_t euros) {
    return txn::on_mysql([euros](db::mysql_connection& on) -> asio::awaitable<void> {
        auto receiving = on.query("UPDATE xa_account SET euros = euros + ? WHERE id = 1", euros);
        co_await std::move(receiving);
    });
}

asio::awaitable<void> transfer(txn::coordinator& banks, std::int64_t euros) {
    txn::transaction transaction;
    const auto left = transaction.add("alice's bank", pay(euros));
    transaction.add("bob's bank", receive(euros));
    auto running = banks.async_run(std::move(transaction));
    const txn::outcome outcome = co_await std::move(running);
    std::cout << euros << " euros: ";
    if (outcome.confirmed())
        std::cout << "confirmed, alice keeps " << left.get().value() << std::endl;
    else if (outcome.cancelled())
        std::cout << "cancelled, " << outcome.text() << std::endl;
    else
        std::cout << "unknown: ask for " << outcome.gid().text() << " later" << std::endl;
    auto settling = banks.async_settle(outcome.gid());
    const auto settled = co_await std::move(settling);  // both banks have done it
}
//]

template <class Bank>
asio::awaitable<void> open_account(Bank& bank) {
    co_await bank.query("DROP TABLE IF EXISTS xa_account");
    co_await bank.query("CREATE TABLE xa_account(id INT PRIMARY KEY, euros BIGINT NOT NULL)");
    co_await bank.query("INSERT INTO xa_account VALUES (1, 100)");
}

template <class Bank>
asio::awaitable<std::int64_t> look(Bank& bank) {
    const auto found = co_await bank.query("SELECT euros FROM xa_account WHERE id = 1");
    co_return found.first().integer("euros");
}

asio::awaitable<void> trade(db::postgres& alice, db::mysql& bob, txn::coordinator& banks) {
    co_await open_account(alice);
    co_await open_account(bob);
    co_await transfer(banks, 30);
    co_await transfer(banks, 900);
    const auto left = co_await look(alice);
    const auto right = co_await look(bob);
    std::cout << "alice has " << left << ", bob has " << right << std::endl;
    co_await banks.async_stop();
    co_await alice.async_stop();
    co_await bob.async_stop();
}

//[xa_banks
txn::coordinator_config
config_of(std::shared_ptr<db::postgres> alice, std::shared_ptr<db::mysql> bob) {
    constexpr std::size_t calls_at_once = 8;
    txn::coordinator_config config;
    config.log = "xa_decisions.db";
    config.participants.emplace("alice's bank", txn::xa_postgres(std::move(alice), calls_at_once));
    config.participants.emplace("bob's bank", txn::xa_mysql(std::move(bob), calls_at_once));
    return config;
}
//]

void rethrow(const std::exception_ptr& thrown) {
    if (thrown)
        std::rethrow_exception(thrown);
}

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: 22_xa_transfer postgresql://... mariadb://...\n";
        return 2;
    }
    asio::io_context context;
    const auto executor = context.get_executor();
    auto alice = std::make_shared<db::postgres>(executor, db::parse_postgres_url(argv[1]));
    auto bob = std::make_shared<db::mysql>(executor, db::parse_mysql_url(argv[2]));
    txn::coordinator banks(executor, config_of(alice, bob));
    asio::co_spawn(context, trade(*alice, *bob, banks), rethrow);
    context.run();
}
