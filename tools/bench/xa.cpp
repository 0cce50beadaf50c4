// SPDX-License-Identifier: BSL-1.0
// Transactions over two databases, compared with the same statements without a coordinator.
#include "bench/bench_files.hpp"
#include "bench/measure.hpp"
#include "bench/run_control.hpp"
#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "common/xa_database.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/txn/coordinator.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace mortise::tool {
namespace {

/// How many transactions, in which time.
struct tally {
    std::uint64_t done = 0;
    std::chrono::duration<double> took{0};

    double per_s() const { return static_cast<double>(done) / took.count(); }
};

/// The two databases, and what is measured at them.
class xa_site {
public:
    xa_site(asio::io_context& context, const bench_settings& settings)
        : settings_(settings),
          executor_(context.get_executor()),
          log_(bench_file(settings.folder, "xa")) {
        for (const auto& url : settings.databases)
            databases_.push_back(xa_database::open(executor_, url, settings.in_flight));
        txn::coordinator_config config;
        config.log = log_.path();
        for (std::size_t i = 0; i < databases_.size(); ++i)
            config.participants.emplace(std::to_string(i), databases_[i]->participant());
        coordinator_ = std::make_unique<txn::coordinator>(executor_, std::move(config));
    }

    // What is left would keep the context at work.
    asio::awaitable<int> run() {
        std::exception_ptr failed;
        try {
            auto measuring = measure();
            co_await std::move(measuring);
        } catch (...) {
            failed = std::current_exception();
        }
        coordinator_.reset();
        databases_.clear();
        if (failed)
            std::rethrow_exception(failed);
        co_return exit_code::success;
    }

    tally whole;
    tally bare;

private:
    using statements = std::vector<std::string>;

    asio::awaitable<void> measure() {
        co_await make_tables();
        progress shown("bench xa, turns");
        const unsigned turns = 2 * std::max(2u, settings_.seconds);
        co_await turn(false, warm_);  // connections are opened, statements prepared
        co_await turn(true, warm_);
        for (unsigned i = 0; i < turns; ++i) {
            shown.show(i, turns);
            const bool with_coordinator = i % 2 == 0;
            co_await turn(with_coordinator, with_coordinator ? whole : bare);
        }
        co_await coordinator_->async_stop();
        for (std::size_t i = 0; i < databases_.size(); ++i) {
            co_await databases_[i]->run("DROP TABLE " + account(i));
            co_await databases_[i]->run("DROP TABLE " + note(i));
            co_await databases_[i]->stop();
        }
    }

    asio::awaitable<void> make_tables() {
        for (std::size_t i = 0; i < databases_.size(); ++i) {
            auto& each = *databases_[i];
            co_await each.run("CREATE TABLE " + account(i) + " (id INT PRIMARY KEY, cents BIGINT)");
            co_await each.run(
                "CREATE TABLE " + note(i) +
                " (log BIGINT, participant VARCHAR(99), number BIGINT,"
                " term BIGINT, branch BIGINT, state SMALLINT,"
                " PRIMARY KEY (log, participant, number, term, branch))"
            );
            for (unsigned row = 0; row < settings_.in_flight; ++row) {
                const auto id = std::to_string(row);
                co_await each.run("INSERT INTO " + account(i) + " VALUES (" + id + ", 0)");
            }
        }
    }

    // The same database may be named twice.
    std::string account(std::size_t place) const {
        return "mortise_bench_" + run_id_ + "_" + std::to_string(place);
    }
    std::string note(std::size_t place) const { return account(place) + "_note"; }

    statements work(std::size_t place, unsigned row) const {
        return {
            "UPDATE " + account(place) +
            " SET cents = cents + 1 WHERE id = " + std::to_string(row)};
    }

    asio::awaitable<void> turn(bool with_coordinator, tally& counted) {
        const auto begin = clock::now();
        const auto end = begin + std::chrono::milliseconds(500);
        coro::task_scope scope(executor_);
        for (unsigned i = 0; i < settings_.in_flight; ++i)
            scope.spawn(with_coordinator ? run_whole(i, end, counted) : run_bare(i, end, counted));
        co_await scope.join();
        counted.took += clock::now() - begin;
    }

    // Waits for the end of both branches, as the bare statements do.
    asio::awaitable<void> run_whole(unsigned row, clock::time_point end, tally& counted) {
        while (clock::now() < end) {
            interruption::check();
            txn::transaction transaction;
            for (std::size_t i = 0; i < databases_.size(); ++i)
                transaction.add(std::to_string(i), databases_[i]->branch(work(i, row)));
            auto running = coordinator_->async_run(std::move(transaction));
            const auto outcome = co_await std::move(running);
            auto settling = coordinator_->async_settle(outcome.gid());
            const auto settled = co_await std::move(settling);
            if (settled.confirmed())
                ++counted.done;
        }
    }

    asio::awaitable<void> run_bare(unsigned row, clock::time_point end, tally& counted) {
        while (clock::now() < end) {
            interruption::check();
            const auto number = std::to_string(++numbers_);
            const auto name = [&](std::size_t place) {
                return db::prepared_name(run_id_ + "-" + number, std::to_string(place));
            };
            coro::task_scope preparing(executor_);
            for (std::size_t i = 0; i < databases_.size(); ++i) {
                auto all = work(i, row);
                all.push_back(
                    "INSERT INTO " + note(i) + " VALUES (" + run_id_ + ", 'bare', " + number +
                    ", 1, 1, 1)"
                );
                preparing.spawn(databases_[i]->prepare(name(i), std::move(all)));
            }
            co_await preparing.join();
            coro::task_scope committing(executor_);
            for (std::size_t i = 0; i < databases_.size(); ++i)
                committing.spawn(databases_[i]->commit(name(i)));
            co_await committing.join();
            ++counted.done;
        }
    }

    const bench_settings& settings_;
    const asio::any_io_executor executor_;
    const std::string run_id_ = std::to_string(std::random_device()());
    const passing_file log_;
    std::vector<std::unique_ptr<xa_database>> databases_;
    std::unique_ptr<txn::coordinator> coordinator_;
    std::uint64_t numbers_ = 0;
    tally warm_;
};

}  // namespace

bench_report measure_xa(const bench_settings& settings) {
    asio::io_context context(1);
    xa_site site(context, settings);
    await_main(context, site.run());
    bench_report report;
    const std::string flight = std::to_string(settings.in_flight);
    report.add(
        "tx_per_s", site.whole.per_s(), 1, "transactions of two branches, " + flight + " in flight"
    );
    report.add("limit_per_s", site.bare.per_s(), 1, "the same statements without a coordinator");
    report.add("ratio", site.whole.per_s() / site.bare.per_s(), 2, "of the two");
    return report;
}

}  // namespace mortise::tool
