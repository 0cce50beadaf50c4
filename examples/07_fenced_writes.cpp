// SPDX-License-Identifier: BSL-1.0
// Fencing. The lock decides who may write, but a writer that was paused does not know that its lock
// is gone. The resource must refuse it: it remembers the highest token that it has seen, and
// refuses lower ones.
//
// Prints:
//     in memory: the slow writer: stale_token
//     in memory: the writer after it: accepted
//     in SQLite: the slow writer: stale_token
//     in SQLite: the writer after it: accepted
//     the ledger says: written by the writer after it

#include "mortise/db/sqlite.hpp"
#include "mortise/fence/sqlite.hpp"
#include "mortise/mortise.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <string_view>

namespace asio = boost::asio;
namespace db = mortise::db;
using mortise::error_code;
using mortise::fencing_token;

namespace {

const char* text_of(error_code code) {
    return !code ? "accepted" : code == mortise::errc::stale_token ? "stale_token" : "refused";
}

/// A resource in memory, protected by a `fencing_gate`.
struct display {
    mortise::fencing_gate gate;
    std::string text;

    error_code show(std::string_view who, const fencing_token& held) {
        if (const error_code late = gate.admit(held))
            return late;
        text = who;
        return {};
    }
};

/// A resource in a database. The fence is checked in the transaction that writes.
mortise::result<void> write(db::connection& on, std::string_view who, const fencing_token& held) {
    if (const error_code late = mortise::sqlite_fence::admit(on.handle(), "ledger", held))
        return late;
    on.run("UPDATE ledger SET text = 'written by ' || ?", who);
    return {};
}

void make_ledger(db::connection& on) {
    on.run("CREATE TABLE IF NOT EXISTS ledger(text TEXT NOT NULL)");
    on.run("DELETE FROM ledger");
    on.run("INSERT INTO ledger VALUES('nothing yet')");
}

std::string read_ledger(db::connection& on) {
    auto row = on.query("SELECT text FROM ledger");
    return row.step() ? std::string(row.text(0)) : std::string();
}

asio::awaitable<error_code> write_to(db::sqlite& books, std::string_view who, fencing_token held) {
    const auto written = co_await books.async_run(
        [who, held](db::connection& on) { return write(on, who, held); },
        db::durability::force,
        asio::as_tuple(asio::deferred)
    );
    co_return std::get<0>(written);
}

asio::awaitable<void> run(mortise::lock_client& one, mortise::lock_client& two, db::sqlite& books) {
    co_await books.async_run(&make_ledger);
    display board;

    // The slow writer gets the lock and then stalls; here it just does not look. Breaking its lock
    // has the same effect as the end of its TTL.
    const auto slow = co_await one.async_acquire("ledger");
    const fencing_token slow_token = slow.token();
    co_await two.async_break("ledger", slow_token, "it has not moved for an hour");

    // The next writer raises both fences to its token before it reads anything.
    const auto next = co_await two.async_acquire("ledger");
    const fencing_token next_token = next.token();
    if (const error_code wrong = board.gate.admit(next_token))
        throw boost::system::system_error(wrong);
    co_await books.async_run([next_token](db::connection& on) -> mortise::result<void> {
        if (const auto wrong = mortise::sqlite_fence::raise(on.handle(), "ledger", next_token))
            return wrong;
        return {};
    });

    // Now the slow writer wakes up, in the middle of its work.
    std::cout << "in memory: the slow writer: "
              << text_of(board.show("the slow writer", slow_token))
              << "\nin memory: the writer after it: "
              << text_of(board.show("the writer after it", next_token)) << '\n';
    const auto late = co_await write_to(books, "the slow writer", slow_token);
    std::cout << "in SQLite: the slow writer: " << text_of(late) << '\n';
    const auto good = co_await write_to(books, "the writer after it", next_token);
    std::cout << "in SQLite: the writer after it: " << text_of(good) << '\n';

    std::cout << "the ledger says: " << co_await books.async_read(&read_ledger) << '\n';
    co_await books.async_stop();
    co_await one.async_stop();
    co_await two.async_stop();
}

}  // namespace

int main() try {
    asio::io_context context;
    const auto executor = context.get_executor();
    // The tokens of the SQLite store grow for ever. They must: the fence in the database outlives
    // this program.
    mortise::lock_client one(executor, mortise::open_store("sqlite:locks.db"));
    mortise::lock_client two(executor, mortise::open_store("sqlite:locks.db"));
    db::sqlite_config config;
    config.path = "ledger.db";
    db::sqlite books(executor, config);
    asio::co_spawn(context, run(one, two, books), [](const std::exception_ptr& e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
