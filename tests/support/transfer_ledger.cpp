// SPDX-License-Identifier: BSL-1.0
#include "support/transfer_ledger.hpp"

#include "mortise/txn/barrier.hpp"

#include <sstream>
#include <stdexcept>

namespace mortise::test {
namespace {

using db::connection;
using txn::operation;
using txn::reply;

using order = transfer_ledger::order;

reply reserve(connection& on, const order& transfer) {
    if (!transfer.debit) {
        on.run(
            "UPDATE account SET promised = promised + ?1 WHERE id = ?2",
            transfer.cents,
            transfer.account
        );
        return reply::done();
    }
    on.run(
        "UPDATE account SET cents = cents - ?1, reserved = reserved + ?1"
        " WHERE id = ?2 AND cents >= ?1",
        transfer.cents,
        transfer.account
    );
    return on.changes() == 1 ? reply::done() : reply::refused("not enough money");
}

reply confirm(connection& on, const order& transfer, const txn::gid& transaction) {
    if (transfer.account == 0)
        return reply::refused("the account is closed");
    on.run(
        transfer.debit ? "UPDATE account SET reserved = reserved - ?1 WHERE id = ?2"
                       : "UPDATE account SET promised = promised - ?1, cents = cents + ?1"
                         " WHERE id = ?2",
        transfer.cents,
        transfer.account
    );
    on.run("INSERT INTO ledger(number) VALUES(?1)", static_cast<std::int64_t>(transaction.number));
    return reply::done();
}

reply cancel(connection& on, const order& transfer) {
    on.run(
        transfer.debit ? "UPDATE account SET reserved = reserved - ?1, cents = cents + ?1"
                         " WHERE id = ?2"
                       : "UPDATE account SET promised = promised - ?1 WHERE id = ?2",
        transfer.cents,
        transfer.account
    );
    return reply::done();
}

reply work(connection& on, const txn::call& call) {
    const auto wanted = transfer_ledger::order_in(call.payload);
    switch (call.type) {
    case operation::try_:
        return reserve(on, wanted);
    case operation::confirm:
        return confirm(on, wanted, call.gid);
    case operation::cancel:
        return cancel(on, wanted);
    }
    return {};
}

}  // namespace

transfer_ledger::order transfer_ledger::order_in(const std::string& payload) {
    std::istringstream words(payload);
    std::string kind;
    order result;
    if (!(words >> kind >> result.account >> result.cents))
        throw std::runtime_error("not an order: " + payload);
    result.debit = kind == "debit";
    return result;
}

void transfer_ledger::prepare(connection& on) {
    static_cast<void>(txn::barrier::overdue(on, 1));  // makes its tables
    on.run("CREATE TABLE IF NOT EXISTS account(id INTEGER PRIMARY KEY, cents INTEGER NOT NULL"
           " CHECK(cents >= 0), reserved INTEGER NOT NULL DEFAULT 0 CHECK(reserved >= 0),"
           " promised INTEGER NOT NULL DEFAULT 0 CHECK(promised >= 0))");
    on.run("CREATE TABLE IF NOT EXISTS ledger(number INTEGER PRIMARY KEY)");
    for (int i = 1; i <= accounts; ++i)
        on.run("INSERT OR IGNORE INTO account(id, cents) VALUES(?1, ?2)", i, initial_cents);
}

result<reply> transfer_ledger::carry_out(connection& on, const txn::call& call) {
    return txn::barrier::pass(on, call, [&] { return work(on, call); });
}

transfer_ledger::books transfer_ledger::read(connection& on) {
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

std::string judge_books(
    const transfer_ledger::books& here,
    const transfer_ledger::books& there,
    const std::set<std::int64_t>& confirmed
) {
    std::string wrong;
    const auto expect = [&wrong](bool right, const std::string& fault) {
        if (!right)
            wrong += fault + '\n';
    };
    constexpr auto all = 2 * transfer_ledger::accounts * transfer_ledger::initial_cents;
    const auto sum = here.cents + there.cents;
    expect(sum == all, "the sum is " + std::to_string(sum) + ", not " + std::to_string(all));
    const auto reserved = here.reserved + there.reserved;
    expect(reserved == 0, std::to_string(reserved) + " are still reserved");
    const auto open = here.branches_open + there.branches_open;
    expect(open == 0, std::to_string(open) + " branches are open");
    expect(here.confirmed == there.confirmed, "a transfer took place on one side only");
    expect(here.confirmed == confirmed, "the log says something else");
    return wrong;
}

}  // namespace mortise::test
