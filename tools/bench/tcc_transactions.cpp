// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_files.hpp"
#include "bench/run_control.hpp"
#include "bench/tcc_phases.hpp"
#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/txn/barrier.hpp"
#include "mortise/txn/functions.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace mortise::tool {

std::shared_ptr<txn::participant> willing_participant() {
    const auto agree = [](const txn::call&) -> asio::awaitable<txn::reply> {
        co_return txn::reply::done();
    };
    return txn::make_participant(agree, agree, agree);
}

namespace {

constexpr std::uint64_t first_transactions = 200;  // transactions
constexpr std::chrono::minutes settle_max(1);

/// What a call changes in an account, behind a barrier.
class branch_booking {
public:
    explicit branch_booking(txn::call call) : call_(std::move(call)) {}
    result<txn::reply> operator()(db::connection& on) const {
        return txn::barrier::pass(on, call_, [&] {
            switch (call_.type) {
            case txn::operation::try_:
                on.run("UPDATE account SET free = free - 1, held = held + 1 WHERE id = ?1", id());
                break;
            case txn::operation::confirm:
                on.run("UPDATE account SET held = held - 1 WHERE id = ?1", id());
                break;
            case txn::operation::cancel:
                on.run("UPDATE account SET free = free + 1, held = held - 1 WHERE id = ?1", id());
                break;
            }
            return txn::reply::done();
        });
    }

    static constexpr unsigned accounts = 1'000;

private:
    std::uint64_t id() const noexcept { return call_.gid.number % accounts; }

    txn::call call_;
};

/// A participant that keeps its accounts in a database.
class accountant final : public txn::participant {
public:
    accountant(const asio::any_io_executor& executor, const std::filesystem::path& path)
        : bank_(executor, config(path)) {}

    asio::awaitable<result<txn::reply>> carry_out(txn::call call) override {
        branch_booking work(std::move(call));
        auto done = co_await bank_.async_run(
            std::move(work), db::durability::force, coro::detail::with_code
        );
        auto& [failed, reply] = done;
        if (failed)
            co_return failed;
        co_return std::move(reply);
    }

    asio::awaitable<void> open() {
        co_await bank_.async_run([](db::connection& on) {
            on.run("CREATE TABLE account(id INTEGER PRIMARY KEY, free INTEGER, held INTEGER)");
            for (unsigned i = 0; i < branch_booking::accounts; ++i)
                on.run("INSERT INTO account VALUES(?, 0, 0)", i);
        });
    }
    asio::awaitable<void> close() { co_await bank_.async_stop(); }

private:
    static db::sqlite_config config(const std::filesystem::path& path) {
        db::sqlite_config config;
        config.path = path;
        return config;
    }

    db::sqlite bank_;
};

asio::awaitable<void> buy(txn::coordinator& tcc, tcc_tally& tally) {
    while (tally.take()) {
        const auto begin = clock::now();
        auto transaction = bench_purchase();
        const auto outcome = co_await tcc.async_run(std::move(transaction));
        if (outcome.confirmed())
            tally.done(clock::now() - begin);
        else
            tally.failed();
    }
}

asio::awaitable<void> buy_all(txn::coordinator& tcc, tcc_tally& tally, unsigned in_flight) {
    coro::task_scope scope(tcc.get_executor());
    for (unsigned i = 0; i < in_flight; ++i)
        scope.spawn(buy(tcc, tally));
    co_await scope.join();
    co_await await_so([&tcc] { return tcc.stats().open == 0; }, settle_max);
}

asio::awaitable<void> measure(
    txn::coordinator& tcc, const tcc_amount& amount, const sync_count& syncs, tcc_figures& sum
) {
    tcc_tally unmeasured({amount.in_flight, {}, first_transactions});
    co_await buy_all(tcc, unmeasured, amount.in_flight);
    const auto written = co_await tcc.async_log_stats();
    const auto synced = syncs.now();
    const auto begin = clock::now();
    tcc_tally tally(amount);
    co_await buy_all(tcc, tally, amount.in_flight);
    sum.took += clock::now() - begin;
    sum.syncs += syncs.now() - synced;
    const auto after = co_await tcc.async_log_stats();
    sum.forced += after.forced - written.forced;
    sum.records += after.transactions - written.transactions;
    sum.commits += after.batches - written.batches;
    sum.add(tally);
}

tcc_records records_in(db::connection& on) {
    auto row = on.query("SELECT plan, progress FROM mortise_txn ORDER BY number DESC LIMIT 1");
    tcc_records found;
    if (row.step()) {
        found.plan = row.text(0);
        found.progress = row.text(1);
    }
    return found;
}

asio::awaitable<tcc_records> records_of(std::filesystem::path log) {
    db::sqlite_config config;
    config.path = std::move(log);
    db::sqlite session(co_await asio::this_coro::executor, std::move(config));
    auto found = co_await session.async_read(&records_in);
    co_await session.async_stop();
    co_return found;
}

}  // namespace

double tcc_figures::latency_us(double quantile) {
    if (latencies.empty())
        return 0;
    std::sort(latencies.begin(), latencies.end());
    const auto last = static_cast<double>(latencies.size() - 1);
    const std::chrono::duration<double, std::micro> found =
        latencies[static_cast<std::size_t>(last * quantile)];
    return found.count();
}

void tcc_figures::add(const tcc_tally& done) {
    count += done.took().size();
    failures += done.failures();
    latencies.insert(latencies.end(), done.took().begin(), done.took().end());
}

tcc_records transactions_turn(
    const std::filesystem::path& folder,
    const tcc_amount& amount,
    const sync_count& syncs,
    tcc_figures& sum
) {
    const passing_file log(bench_file(folder, "log"));
    tcc_records found;
    asio::io_context context(1);
    txn::coordinator_config config;
    config.log = log.path();
    config.participants = {{"stock", willing_participant()}, {"wallet", willing_participant()}};
    txn::coordinator tcc(context.get_executor(), std::move(config));
    const auto run = [&]() -> asio::awaitable<int> {
        co_await measure(tcc, amount, syncs, sum);
        co_await tcc.async_stop();
        found = co_await records_of(log.path());
        co_return exit_code::success;
    };
    await_main(context, run());
    return found;
}

void barrier_turn(
    const std::filesystem::path& folder,
    const tcc_amount& amount,
    const sync_count& syncs,
    tcc_figures& sum
) {
    const passing_file log(bench_file(folder, "log"));
    const passing_file stock_file(bench_file(folder, "stock"));
    const passing_file wallet_file(bench_file(folder, "wallet"));
    asio::io_context context(1);
    const auto stock = std::make_shared<accountant>(context.get_executor(), stock_file.path());
    const auto wallet = std::make_shared<accountant>(context.get_executor(), wallet_file.path());
    txn::coordinator_config config;
    config.log = log.path();
    config.participants = {{"stock", stock}, {"wallet", wallet}};
    txn::coordinator tcc(context.get_executor(), std::move(config));
    const auto run = [&]() -> asio::awaitable<int> {
        co_await stock->open();
        co_await wallet->open();
        co_await measure(tcc, amount, syncs, sum);
        co_await tcc.async_stop();
        co_await stock->close();
        co_await wallet->close();
        co_return exit_code::success;
    };
    await_main(context, run());
}

void http_turn(
    const std::filesystem::path& folder,
    const tcc_amount& amount,
    const sync_count& syncs,
    const http_bank& bank,
    tcc_figures& sum
) {
    const passing_file log(bench_file(folder, "log"));
    asio::io_context context(1);
    txn::coordinator_config config;
    config.log = log.path();
    for (const std::string name : {"stock", "wallet"})
        config.participants.emplace(name, bank.participant(context.get_executor(), name));
    txn::coordinator tcc(context.get_executor(), std::move(config));
    const auto run = [&]() -> asio::awaitable<int> {
        co_await measure(tcc, amount, syncs, sum);
        co_await tcc.async_stop();
        co_return exit_code::success;
    };
    await_main(context, run());
}

namespace {

constexpr std::uint64_t first_branches = 400;  // branches

txn::call call_of(txn::operation operation, std::uint64_t number) {
    txn::call call;
    call.type = operation;
    call.gid = {0x5f0c3a9be1d27746, number};
    call.branch = 1;
    call.attempt = 1;
    call.epoch = 1;
    call.term = 1;
    call.participant = "stock";
    call.payload = bench_purchase().branches().front().payload;
    call.time_left = std::chrono::seconds(10);
    return call;
}

// Tries and then confirms one branch after the other.
asio::awaitable<void> call_again_and_again(txn::participant& participant, tcc_tally& tally) {
    std::uint64_t number = 0;
    while (tally.take()) {
        const auto begin = clock::now();
        ++number;
        auto trying = participant.carry_out(call_of(txn::operation::try_, number));
        const auto tried = co_await std::move(trying);
        auto confirming = participant.carry_out(call_of(txn::operation::confirm, number));
        const auto confirmed = co_await std::move(confirming);
        if (tried && confirmed)
            tally.done(clock::now() - begin);
        else
            tally.failed();
    }
}

asio::awaitable<void>
call_all(txn::participant& stock, txn::participant& wallet, tcc_tally& tally, unsigned in_flight) {
    coro::task_scope scope(co_await asio::this_coro::executor);
    for (unsigned i = 0; i < in_flight; ++i) {
        scope.spawn(call_again_and_again(stock, tally));
        scope.spawn(call_again_and_again(wallet, tally));
    }
    co_await scope.join();
}

}  // namespace

// Keeps as many requests under way as that many transactions of two branches do.
void bare_http_turn(const tcc_amount& amount, const http_bank& bank, tcc_figures& sum) {
    asio::io_context context(1);
    const auto stock = bank.participant(context.get_executor(), "stock");
    const auto wallet = bank.participant(context.get_executor(), "wallet");
    const auto run = [&]() -> asio::awaitable<int> {
        tcc_tally unmeasured({amount.in_flight, {}, first_branches});
        co_await call_all(*stock, *wallet, unmeasured, amount.in_flight);
        const auto begin = clock::now();
        tcc_tally tally({amount.in_flight, amount.span, 2 * amount.count});
        co_await call_all(*stock, *wallet, tally, amount.in_flight);
        sum.took += clock::now() - begin;
        sum.count += tally.took().size() / 2;
        sum.failures += tally.failures();
        co_return exit_code::success;
    };
    await_main(context, run());
}

}  // namespace mortise::tool
