// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_files.hpp"
#include "bench/run_control.hpp"
#include "bench/tcc_phases.hpp"
#include "common/await_main.hpp"
#include "common/default_store.hpp"
#include "common/exit_code.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace mortise::tool {
namespace {

using std::chrono::hours;

constexpr std::chrono::minutes end_max(5);
constexpr std::uint32_t partitions = 8;

/// Never ends a try unless told to; confirms and cancels at once.
class absent final : public txn::participant {
public:
    explicit absent(std::shared_ptr<coro::time_source> time) : time_(std::move(time)) {}

    asio::awaitable<result<txn::reply>> carry_out(txn::call call) override {
        if (call.type == txn::operation::try_)
            co_await coro::sleep_for(*time_, hours(24));
        co_return txn::reply::done();
    }

private:
    const std::shared_ptr<coro::time_source> time_;
};

/// A coordinator that shares the log, with a lock client of its own.
class sharing_site {
public:
    sharing_site(
        const asio::any_io_executor& executor,
        const std::filesystem::path& log,
        const std::filesystem::path& locks
    )
        : locks_(std::make_shared<lock_client>(executor, open_store(sqlite_url(locks)))),
          tcc_(executor, config(executor, log)) {}

    txn::coordinator& operator*() noexcept { return tcc_; }
    txn::coordinator* operator->() noexcept { return &tcc_; }
    bool leads_all() const noexcept { return tcc_.stats().partitions == partitions; }
    /// Whether it waits for every lock. It then gets each as soon as the holder releases it.
    bool waits_for_all() const { return locks_->stats().requests >= partitions; }

    asio::awaitable<void> stop() {
        co_await tcc_.async_stop();
        co_await locks_->async_stop();
    }
    asio::awaitable<void> stop_locks() { co_await locks_->async_stop(); }

private:
    txn::coordinator_config
    config(const asio::any_io_executor& executor, const std::filesystem::path& log) const {
        const auto away = std::make_shared<absent>(coro::make_boot_time_source(executor));
        txn::coordinator_config config;
        config.log = log;
        config.partitions = partitions;
        config.locks = locks_;
        config.participants = {{"stock", away}, {"wallet", away}, {"ready", willing_participant()}};
        config.deadline = config.call_max = hours(1);
        config.open_max = 10'000'000;
        return config;
    }

    std::shared_ptr<lock_client> locks_;
    txn::coordinator tcc_;
};

/// How many transactions have ended, confirmed or cancelled.
std::uint64_t settled_in(db::connection& on) {
    auto row = on.query("SELECT count(*) FROM mortise_txn WHERE state <> 1 AND ended IS NOT NULL");
    return row.step() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

asio::awaitable<std::uint64_t> settled_of(std::filesystem::path log) {
    db::sqlite_config config;
    config.path = std::move(log);
    db::sqlite session(co_await asio::this_coro::executor, std::move(config));
    const auto found = co_await session.async_read(&settled_in);
    co_await session.async_stop();
    co_return found;
}

asio::awaitable<void> accept_one(txn::coordinator& tcc, std::uint64_t& not_confirmed) {
    txn::transaction transaction;
    transaction.add("ready", "");
    const auto outcome = co_await tcc.async_run(std::move(transaction));
    if (!outcome.confirmed())
        ++not_confirmed;
}

}  // namespace

tcc_handover handover_turn(const std::filesystem::path& folder, std::uint64_t count) {
    const passing_file log(bench_file(folder, "shared"));
    const scratch_folder beside;
    const auto locks = beside.path() / "locks.db";
    tcc_handover found;
    std::uint64_t answered = 0;
    bool stopped = false;
    clock::time_point begin;
    asio::io_context context(1);
    sharing_site first(context.get_executor(), log.path(), locks);
    const auto run = [&]() -> asio::awaitable<int> {
        co_await await_so([&] { return first.leads_all(); }, end_max);
        for (std::uint64_t i = 0; i < count; ++i) {
            first->async_run(
                bench_purchase(),
                [&answered](error_code failed, const txn::outcome& outcome) {
                    answered += !failed && outcome.cancelled();
                }
            );
        }
        co_await await_so([&] { return first->stats().begun == count; }, end_max);
        sharing_site second(context.get_executor(), log.path(), locks);
        co_await await_so([&] { return second.waits_for_all(); }, end_max);

        begin = clock::now();
        first->async_stop([&](error_code) {
            stopped = true;
            found.stop = clock::now() - begin;
        });
        co_await await_so([&] { return second.leads_all(); }, end_max);
        co_await accept_one(*second, found.lost);
        found.took = clock::now() - begin;
        co_await await_so([&] { return stopped && answered == count; }, end_max);

        const auto all = count + 1;
        const auto time = coro::make_boot_time_source(context.get_executor());
        const auto end = clock::now() + end_max;
        std::uint64_t settled = 0;
        while (settled < all && clock::now() < end) {
            interruption::check();
            co_await coro::sleep_for(*time, std::chrono::milliseconds(10));
            settled = co_await settled_of(log.path());
        }
        found.lost += all - settled;
        co_await first.stop_locks();
        co_await second.stop();
        co_return exit_code::success;
    };
    await_main(context, run());
    return found;
}

void add_handover(bench_report& to, const tcc_handover& handover, std::uint64_t count) {
    const auto ms = [](clock::duration span) {
        return std::chrono::duration<double, std::milli>(span).count();
    };
    const std::string under_way = std::to_string(count) + " under way that get no answer";
    to.add(
        "handover_ms", ms(handover.took), 1, "from a stop until another one leads, " + under_way
    );
    to.add("handover_stop_ms", ms(handover.stop), 1, "until the stopped one has ended");
    to.add_fault(
        "handover_lost", static_cast<double>(handover.lost), "of those, not settled after it"
    );
}

}  // namespace mortise::tool
