// SPDX-License-Identifier: BSL-1.0
#include "chaos/transfer_bank.hpp"

#include "chaos/looked_at_file.hpp"
#include "mortise/coro/detail/crash_point.hpp"

#include <boost/asio/io_context.hpp>

#include <utility>

namespace mortise::test {
namespace {

db::sqlite_config config_for(const std::filesystem::path& database) {
    db::sqlite_config config;
    config.path = database;
    return config;
}

}  // namespace

transfer_bank::transfer_bank(
    const asio::any_io_executor& executor, const std::filesystem::path& database
)
    : session_(executor, config_for(database)) {
    asio::io_context context;
    db::sqlite first(context.get_executor(), config_for(database));
    error_code failed;
    first.async_run(&transfer_ledger::prepare, db::durability::force, [&](error_code code) {
        failed = code;
    });
    context.run();
    if (failed)
        throw boost::system::system_error(failed, database.string());
}

asio::awaitable<result<txn::reply>> transfer_bank::carry_out(txn::call call) {
    MORTISE_CRASH_POINT("bank.received");
    auto doing = session_.async_run(
        [call](db::connection& on) { return transfer_ledger::carry_out(on, call); },
        db::durability::force
    );
    error_code failed;
    txn::reply got;
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

transfer_ledger::books transfer_bank::read_books(const std::filesystem::path& database) {
    const looked_at_file file(database);
    auto on = file.connect();
    return transfer_ledger::read(on);
}

}  // namespace mortise::test
