// SPDX-License-Identifier: BSL-1.0
#include "order/service.hpp"

#include "mortise/db/sqlite.hpp"
#include "mortise/txn/http/participant_server.hpp"
#include "mortise/txn/sqlite_participant.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/strand.hpp>

#include <sqlite3.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace order {
namespace {

namespace asio = boost::asio;
namespace db = mortise::db;
namespace txn = mortise::txn;

/// What an order wants from a service: a name and an amount.
struct order_line {
    explicit order_line(const std::string& payload) {
        std::istringstream(payload) >> name >> amount;
    }

    std::string name;
    std::int64_t amount = 0;
};

// [service_work]
// What a service does for a try, a confirm and a cancel. It is called once for each, even if calls
// are repeated, delayed or lost. It runs in the transaction that stores that it was called.
txn::reply work(db::connection& on, txn::operation operation, const order_line& wanted) {
    switch (operation) {
    case txn::operation::try_:
        on.run(
            "UPDATE shelf SET free = free - ?2, reserved = reserved + ?2"
            " WHERE name = ?1 AND free >= ?2",
            wanted.name,
            wanted.amount
        );
        return on.changes() == 1 ? txn::reply::done()
                                 : txn::reply::refused("there is not enough of " + wanted.name);
    case txn::operation::confirm:
        on.run(
            "UPDATE shelf SET reserved = reserved - ?2, used = used + ?2 WHERE name = ?1",
            wanted.name,
            wanted.amount
        );
        break;
    case txn::operation::cancel:
        on.run(
            "UPDATE shelf SET reserved = reserved - ?2, free = free + ?2 WHERE name = ?1",
            wanted.name,
            wanted.amount
        );
        break;
    }
    return txn::reply::done();
}

txn::reply carry_out(db::connection& on, const txn::call& call) {
    return work(on, call.type, order_line(call.payload));
}
// [service_work]

asio::awaitable<void> run(db::sqlite& shelf, const std::string& service, std::uint16_t port) {
    const auto executor = co_await asio::this_coro::executor;
    const auto keeper =
        std::make_shared<txn::sqlite_participant>(shelf, carry_out, carry_out, carry_out);
    txn::participant_server::participants served;
    served.emplace(service, keeper);
    txn::http_server_config where;
    where.port = port;
    txn::participant_server server(executor, where, served);
    std::cout << server.port() << std::endl;
    asio::signal_set signals(executor, SIGTERM);
    co_await signals.async_wait(asio::deferred);
    co_await server.async_stop();
    co_await shelf.async_stop();
}

}  // namespace

std::filesystem::path database_of(const std::filesystem::path& folder, const std::string& service) {
    return folder / (service + ".db");
}

void create_database(
    const std::filesystem::path& folder, const std::string& service, const std::string& rows
) {
    sqlite3* opened = nullptr;
    const int code = ::sqlite3_open(database_of(folder, service).c_str(), &opened);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> closing(opened, &::sqlite3_close);
    const std::string text =
        "PRAGMA journal_mode = wal; CREATE TABLE shelf(name TEXT PRIMARY KEY,"
        " free INTEGER CHECK(free >= 0), reserved INTEGER DEFAULT 0, used INTEGER DEFAULT 0);"
        " INSERT INTO shelf(name, free) " +
        rows;
    if (code != SQLITE_OK ||
        ::sqlite3_exec(opened, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        throw std::runtime_error("the database of the " + service + " cannot be made");
}

int serve(const std::filesystem::path& folder, const std::string& service, std::uint16_t port) {
    asio::io_context context{1};
    db::sqlite_config config;
    config.path = database_of(folder, service);
    db::sqlite shelf(context.get_executor(), config);
    std::exception_ptr failed;
    asio::co_spawn(context, run(shelf, service, port), [&failed](std::exception_ptr why) {
        failed = std::move(why);
    });
    context.run();
    if (failed)
        std::rethrow_exception(failed);
    return 0;
}

}  // namespace order
