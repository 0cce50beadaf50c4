// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_files.hpp"
#include "bench/host_meters.hpp"
#include "bench/measure.hpp"
#include "bench/run_control.hpp"
#include "common/await_main.hpp"
#include "common/default_store.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/open_store.hpp"

#include <boost/asio/io_context.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>

namespace mortise::tool {
namespace {

/// The result of one phase of the measurement.
struct phase {
    double per_s = 0;
    double batch_mean = 0;
};

void make_tables(db::connection& on) {
    on.run("CREATE TABLE account(id INTEGER PRIMARY KEY, cents INTEGER NOT NULL)");
    on.run("CREATE TABLE entry(id INTEGER PRIMARY KEY, account INTEGER NOT NULL, cents INTEGER)");
    constexpr int accounts = 1'000;
    for (int i = 0; i < accounts; ++i)
        on.run("INSERT INTO account VALUES(?, 0)", i);
}

/// A small booking: one row changed, one row added.
class bare_booking {
public:
    explicit bare_booking(unsigned account) : account_(account) {}
    void operator()(db::connection& on) const {
        on.run("UPDATE account SET cents = cents + 1 WHERE id = ?", account_);
        on.run("INSERT INTO entry(account, cents) VALUES(?, 1)", account_);
    }

private:
    unsigned account_;
};

asio::awaitable<void> book(db::sqlite& bank, unsigned account, clock::time_point end) {
    while (clock::now() < end) {
        interruption::check();
        co_await bank.async_run(bare_booking(account));
    }
}

asio::awaitable<int> run(db::sqlite& bank, unsigned in_flight, unsigned seconds, phase& found) {
    constexpr std::chrono::milliseconds first_phase(200);
    co_await book(bank, 0, clock::now() + first_phase);
    const auto before = bank.stats();
    const auto begin = clock::now();
    const auto end = begin + std::chrono::seconds(seconds);
    coro::task_scope scope(bank.get_executor());
    for (unsigned i = 0; i < in_flight; ++i)
        scope.spawn(book(bank, i, end));
    co_await scope.join();
    const std::chrono::duration<double> took = clock::now() - begin;
    const auto after = bank.stats();
    const auto done = static_cast<double>(after.transactions - before.transactions);
    found.per_s = done / took.count();
    found.batch_mean = done / static_cast<double>(after.batches - before.batches);
    co_await bank.async_stop();
    co_return exit_code::success;
}

phase measure_phase(const std::filesystem::path& folder, unsigned in_flight, unsigned seconds) {
    const std::string name = "mortise-bench-" + std::to_string(::getpid()) + ".db";
    const passing_file file(folder / name);
    asio::io_context context(1);
    db::sqlite_config config;
    config.path = file.path();
    db::sqlite bank(context.get_executor(), config);
    phase found;
    const auto begin = [&]() -> asio::awaitable<int> {
        co_await bank.async_run(&make_tables);
        co_return co_await run(bank, in_flight, seconds, found);
    };
    await_main(context, begin());
    return found;
}

}  // namespace

bench_report measure_txn(const std::string& store, const bench_settings& settings) {
    const auto path = sqlite_path(store);
    if (!path) {
        throw failure(
            exit_code::usage,
            "transactions are measured with SQLite only",
            without_passwords(store),
            "leave --store out, or name an SQLite store: its folder is used"
        );
    }
    const auto folder = path->parent_path().empty() ? "." : path->parent_path();
    constexpr std::uint64_t phases = 2;
    progress shown("bench txn, phases");
    const double disk = fsync_us(folder);
    const phase single = measure_phase(folder, 1, settings.seconds);
    shown.show(1, phases);
    const phase many = measure_phase(folder, settings.in_flight, settings.seconds);
    bench_report report;
    const std::string flight = std::to_string(settings.in_flight);
    report.add("tx_per_s", many.per_s, 1, "durable transactions, " + flight + " in flight");
    report.add("tx_per_s_single", single.per_s, 1, "the same, one after the other");
    report.add("ratio", many.per_s / single.per_s, 2, "of the two");
    report.add("fsync_us", disk, 1, "an fdatasync after a small append, median");
    report.add("batch_mean", many.batch_mean, 1, "transactions that shared a commit");
    return report;
}

}  // namespace mortise::tool
