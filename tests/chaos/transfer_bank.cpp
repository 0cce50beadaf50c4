// SPDX-License-Identifier: BSL-1.0
#include "chaos/transfer_bank.hpp"

#include "chaos/looked_at_file.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/txn/barrier.hpp"

#include <boost/asio/io_context.hpp>

#include <sstream>
#include <stdexcept>
#include <utility>

namespace mortise::test {
namespace {

using db::connection;
using txn::operation;
using txn::reply;

struct order {
    bool debit = false;
    int account = 0;
    std::int64_t cents = 0;
};

order order_in(const std::string& payload) {
    std::istringstream words(payload);
    std::string kind;
    order made;
    if (!(words >> kind >> made.account >> made.cents))
        throw std::runtime_error("not an order: " + payload);
    made.debit = kind == "debit";
    return made;
}

reply reserve(connection& on, const order& what) {
    if (!what.debit) {
        on.run(
            "UPDATE account SET promised = promised + ?1 WHERE id = ?2", what.cents, what.account
        );
        return reply::done();
    }
    on.run(
        "UPDATE account SET cents = cents - ?1, reserved = reserved + ?1"
        " WHERE id = ?2 AND cents >= ?1",
        what.cents,
        what.account
    );
    return on.changes() == 1 ? reply::done() : reply::refused("not enough money");
}

reply confirm(connection& on, const order& what, const txn::gid& which) {
    on.run(
        what.debit ? "UPDATE account SET reserved = reserved - ?1 WHERE id = ?2"
                   : "UPDATE account SET promised = promised - ?1, cents = cents + ?1"
                     " WHERE id = ?2",
        what.cents,
        what.account
    );
    on.run("INSERT INTO ledger(number) VALUES(?1)", static_cast<std::int64_t>(which.number));
    return reply::done();
}

reply cancel(connection& on, const order& what) {
    on.run(
        what.debit ? "UPDATE account SET reserved = reserved - ?1, cents = cents + ?1"
                     " WHERE id = ?2"
                   : "UPDATE account SET promised = promised - ?1 WHERE id = ?2",
        what.cents,
        what.account
    );
    return reply::done();
}

reply work(connection& on, const txn::call& what) {
    const auto wanted = order_in(what.payload);
    switch (what.what) {
    case operation::try_:
        return reserve(on, wanted);
    case operation::confirm:
        return confirm(on, wanted, what.gid);
    case operation::cancel:
        return cancel(on, wanted);
    }
    return {};
}

db::sqlite_config config_for(const std::filesystem::path& database) {
    db::sqlite_config made;
    made.path = database;
    return made;
}

void make_accounts(connection& on) {
    static_cast<void>(txn::barrier::overdue(on, 1));  // makes its tables
    on.run("CREATE TABLE IF NOT EXISTS account(id INTEGER PRIMARY KEY, cents INTEGER NOT NULL"
           " CHECK(cents >= 0), reserved INTEGER NOT NULL DEFAULT 0 CHECK(reserved >= 0),"
           " promised INTEGER NOT NULL DEFAULT 0 CHECK(promised >= 0))");
    on.run("CREATE TABLE IF NOT EXISTS ledger(number INTEGER PRIMARY KEY)");
    for (int i = 1; i <= transfer_bank::accounts; ++i)
        on.run(
            "INSERT OR IGNORE INTO account(id, cents) VALUES(?1, ?2)",
            i,
            transfer_bank::initial_cents
        );
}

}  // namespace

transfer_bank::transfer_bank(
    const asio::any_io_executor& executor, const std::filesystem::path& database
)
    : session_(executor, config_for(database)) {
    asio::io_context context;
    db::sqlite first(context.get_executor(), config_for(database));
    error_code failed;
    first.async_run(&make_accounts, db::durability::force, [&](error_code came) { failed = came; });
    context.run();
    if (failed)
        throw boost::system::system_error(failed, database.string());
}

asio::awaitable<result<reply>> transfer_bank::carry_out(txn::call what) {
    MORTISE_CRASH_POINT("bank.received");
    auto doing = session_.async_run(
        [what](connection& on) {
            return txn::barrier::pass(on, what, [&] { return work(on, what); });
        },
        db::durability::force
    );
    error_code failed;
    reply got;
    try {
        got = co_await std::move(doing);
    } catch (const boost::system::system_error& wrong) {
        failed = wrong.code();
    }
    MORTISE_CRASH_POINT("bank.committed");
    if (failed)
        co_return failed;
    co_return got;
}

transfer_bank::books transfer_bank::read_books(const std::filesystem::path& database) {
    const looked_at_file file(database);
    auto on = file.connect();
    books found;
    auto sums = on.query("SELECT sum(cents), sum(reserved) + sum(promised) FROM account");
    sums.step();
    found.cents = sums.integer(0);
    found.reserved = sums.integer(1);
    auto open = on.query("SELECT count(*) FROM mortise_txn_branch WHERE state = 1");
    open.step();
    found.branches_open = open.integer(0);
    auto row = on.query("SELECT number FROM ledger");
    while (row.step())
        found.confirmed.insert(row.integer(0));
    return found;
}

}  // namespace mortise::test
