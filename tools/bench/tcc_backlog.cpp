// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_files.hpp"
#include "bench/host_meters.hpp"
#include "bench/run_control.hpp"
#include "bench/tcc_phases.hpp"
#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "mortise/coro/task_scope.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

namespace mortise::tool {
namespace {

using std::chrono::hours;

constexpr std::chrono::minutes making_max(10);

/// Accepts every try. Answers other calls by its state: asks for time, is away, or is back.
class absentee final : public txn::participant {
public:
    enum class state { wants_time, away, back };

    asio::awaitable<result<txn::reply>> carry_out(txn::call call) override {
        if (at == state::back || call.type == txn::operation::try_)
            co_return txn::reply::done();
        if (at == state::wants_time)
            co_return txn::reply::again(hours(24));
        co_return error_code(txn::errc::call_failed);
    }

    state at = state::wants_time;
};

txn::transaction order_of_the_absentee() {
    txn::transaction transaction = bench_purchase();
    transaction.add("absentee", R"({"parcel":4711})");
    return transaction;
}

txn::coordinator_config
config_for(const passing_file& log, std::shared_ptr<txn::participant> absent) {
    txn::coordinator_config config;
    config.log = log.path();
    config.participants = {
        {"stock", willing_participant()},
        {"wallet", willing_participant()},
        {"absentee", std::move(absent)}};
    config.deadline = hours(1);
    config.open_max = 10'000'000;
    return config;
}

// Leaves `count` transactions decided that one participant has not confirmed. @return one of them.
txn::gid
pile_up(const passing_file& log, const std::shared_ptr<absentee>& who, std::uint64_t count) {
    constexpr std::uint64_t portion = 1'000;
    txn::gid any;
    asio::io_context context(1);
    txn::coordinator tcc(context.get_executor(), config_for(log, who));
    const auto run = [&]() -> asio::awaitable<int> {
        for (std::uint64_t begun = 0; begun < count;) {
            const auto next = std::min(begun + portion, count);
            for (; begun < next; ++begun) {
                tcc.async_run(
                    order_of_the_absentee(),
                    [&](error_code, const txn::outcome& outcome) { any = outcome.gid(); }
                );
            }
            co_await await_so([&] { return tcc.stats().confirmed == next; }, making_max);
        }
        co_await tcc.async_stop();
        co_return exit_code::success;
    };
    await_main(context, run());
    return any;
}

/// A coordinator, and the figures of its healthy transactions.
class backlog_site {
public:
    backlog_site(
        const asio::any_io_executor& executor,
        const passing_file& log,
        std::shared_ptr<txn::participant> absent
    )
        : tcc_(executor, config_for(log, std::move(absent))) {}

    txn::coordinator& operator*() noexcept { return tcc_; }
    txn::coordinator* operator->() noexcept { return &tcc_; }

    asio::awaitable<void> buy_for(std::chrono::milliseconds span, unsigned in_flight) {
        tcc_tally tally({in_flight, span, 0});
        coro::task_scope scope(tcc_.get_executor());
        for (unsigned i = 0; i < in_flight; ++i)
            scope.spawn(buy(tally));
        co_await scope.join();
        healthy.add(tally);
    }

    tcc_figures healthy;

private:
    asio::awaitable<void> buy(tcc_tally& tally) {
        while (tally.take()) {
            const auto begin = clock::now();
            auto transaction = bench_purchase();
            const auto outcome = co_await tcc_.async_run(std::move(transaction));
            if (outcome.confirmed())
                tally.done(clock::now() - begin);
            else
                tally.failed();
        }
    }

    txn::coordinator tcc_;
};

// Waits for one transaction: the coordinator then calls the participant at once.
asio::awaitable<void> drain(txn::coordinator& tcc, txn::gid any, tcc_backlog& found) {
    const auto before = tcc.stats();
    const auto begin = clock::now();
    tcc.async_settle(any, [](error_code, const txn::outcome&) {});
    co_await await_so([&] { return tcc.stats().open == 0; }, making_max);
    found.drain = clock::now() - begin;
    found.drained = tcc.stats().ended - before.ended;
    found.left = before.open - found.drained;
}

}  // namespace

tcc_backlog
backlog_turns(const std::filesystem::path& folder, const tcc_amount& amount, unsigned turns) {
    tcc_backlog found;
    const passing_file log(bench_file(folder, "backlog"));
    const passing_file first(bench_file(folder, "alone"));
    const passing_file second(bench_file(folder, "other"));
    const auto who = std::make_shared<absentee>();
    const auto any = pile_up(log, who, amount.count);
    who->at = absentee::state::away;
    const peak_memory memory;
    asio::io_context context(1);
    backlog_site loaded(context.get_executor(), log, who);
    backlog_site alone(context.get_executor(), first, who);
    backlog_site other(context.get_executor(), second, who);
    backlog_site* const all[] = {&loaded, &alone, &other};
    const auto run = [&]() -> asio::awaitable<int> {
        const auto all_wait = [&] { return loaded->stats().open == amount.count; };
        co_await await_so([&] { return all_wait(); }, making_max);
        if (const auto grown = memory.growth_bytes())
            found.rss_growth_mb = static_cast<double>(*grown) / 1e6;
        for (backlog_site* const each : all) {  // one round that is not measured
            co_await each->buy_for(amount.span, amount.in_flight);
            each->healthy = tcc_figures();
        }
        for (unsigned turn = 0; turn < turns; ++turn) {
            for (unsigned i = 0; i < std::size(all); ++i)
                co_await all[(turn + i) % std::size(all)]->buy_for(amount.span, amount.in_flight);
        }
        co_await await_so([&] { return all_wait(); }, making_max);
        who->at = absentee::state::back;
        co_await drain(*loaded, any, found);
        for (backlog_site* const each : all)
            co_await (*each)->async_stop();
        co_return exit_code::success;
    };
    await_main(context, run());
    found.loaded = loaded.healthy;
    found.alone = alone.healthy;
    found.other = other.healthy;
    return found;
}

void add_backlog(bench_report& to, tcc_backlog& backlog) {
    const double alone_us = backlog.alone.latency_us(0.99);
    const double drain_s = std::chrono::duration<double>(backlog.drain).count();
    to.add("backlog_p99_us", backlog.loaded.latency_us(0.99), 1, "latency beside those that wait");
    to.add(
        "backlog_p99_ratio", backlog.loaded.latency_us(0.99) / alone_us, 3, "to that without them"
    );
    to.add(
        "backlog_p99_noise", backlog.other.latency_us(0.99) / alone_us, 3, "of two without them"
    );
    to.add(
        "backlog_drain_per_s",
        static_cast<double>(backlog.drained) / drain_s,
        1,
        "those that waited, ended, when their participant was back"
    );
    to.add("backlog_rss_mb", backlog.rss_growth_mb, 1, "memory that they took while they waited");
    to.add_fault("backlog_left", static_cast<double>(backlog.left), "of those, not ended");
    to.add_fault(
        "backlog_not_confirmed",
        static_cast<double>(
            backlog.loaded.failures + backlog.alone.failures + backlog.other.failures
        ),
        "healthy transactions that were not confirmed"
    );
}

}  // namespace mortise::tool
