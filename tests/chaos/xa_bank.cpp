// SPDX-License-Identifier: BSL-1.0
#include "chaos/xa_bank.hpp"

#include "mortise/txn/xa_mysql.hpp"
#include "mortise/txn/xa_postgres.hpp"

#include <cstdint>
#include <sstream>

namespace mortise::test {
namespace {

constexpr std::size_t calls_at_once = 8;
constexpr std::size_t connections_max = 16;

// The numbers are in the text: the two kinds of servers mark parameters in different ways.
template <class Connection>
asio::awaitable<txn::reply> move_money(Connection& on, const txn::call& request) {
    std::string verb;
    int account = 0;
    std::int64_t cents = 0;
    std::istringstream(request.payload) >> verb >> account >> cents;
    if (verb == "look") {
        auto looking = on.query("SELECT cents FROM account WHERE id = " + std::to_string(account));
        co_await std::move(looking);
        co_return txn::reply::done();
    }
    if (verb == "inside") {
        auto taking = on.query(
            "UPDATE account SET cents = cents + " + std::to_string(cents) + " WHERE id = 1"
        );
        co_await std::move(taking);
    }
    if (verb != "credit")
        cents = -cents;
    const auto change = std::to_string(cents);
    auto moving = on.query(
        "UPDATE account SET cents = cents + " + change + " WHERE id = " + std::to_string(account) +
        " AND cents + " + change + " >= 0"
    );
    const auto moved = co_await std::move(moving);
    if (moved.affected == 0)
        co_return txn::reply::refused("too little");
    auto noting = on.query(
        "INSERT INTO ledger VALUES (" + std::to_string(request.gid.number) + ", " +
        std::to_string(request.branch) + ", " + (verb == "inside" ? "0" : change) + ")"
    );
    co_await std::move(noting);
    co_return txn::reply::done();
}

template <class Session, class Config>
std::shared_ptr<Session> open_session(const asio::any_io_executor& executor, Config config) {
    config.connections_max = connections_max;
    return std::make_shared<Session>(executor, std::move(config));
}

}  // namespace

std::shared_ptr<txn::participant>
make_xa_bank(const asio::any_io_executor& executor, const std::string& url) {
    if (url.starts_with("postgresql:")) {
        return txn::xa_postgres(
            open_session<db::postgres>(executor, db::parse_postgres_url(url)),
            &move_money<db::postgres_connection>,
            calls_at_once
        );
    }
    return txn::xa_mysql(
        open_session<db::mysql>(executor, db::parse_mysql_url(url)),
        &move_money<db::mysql_connection>,
        calls_at_once
    );
}

}  // namespace mortise::test
