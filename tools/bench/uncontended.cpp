// SPDX-License-Identifier: BSL-1.0
#include "await_main.hpp"
#include "bench/bench_lock_name.hpp"
#include "bench/interruption.hpp"
#include "bench/measure.hpp"
#include "bench/progress.hpp"
#include "bench/server_share.hpp"
#include "bench/slow_start.hpp"
#include "bench/work.hpp"
#include "default_store.hpp"
#include "exit_code.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string>

namespace mortise::tool {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t warm_up_cycles = 50;

/// How often the lock was acquired and released, and in what time.
struct cycles {
    std::uint64_t count = 0;
    clock::duration took{};

    double per_s() const noexcept {
        return static_cast<double>(count) / std::chrono::duration<double>(took).count();
    }
};

/// The findings of the measurement.
struct uncontended_findings {
    cycles locks;
    double pings_per_s = 0;
    std::uint64_t heartbeats = 0;
};

/// Acquires and releases again and again.
asio::awaitable<void> cycle(lock_client& locks, std::string name, milliseconds span, cycles& sum) {
    const clock::time_point begin = clock::now();
    clock::duration passed{};
    while (passed < span) {
        lease held = co_await acquire_for_bench(locks, name);
        co_await release_for_bench(locks, held);
        ++sum.count;
        interruption::check();
        passed = clock::now() - begin;
    }
    sum.took += passed;
}

asio::awaitable<void> warm_up(lock_client& locks, std::string name) {
    const clock::time_point begin = clock::now();
    lease first = co_await acquire_for_bench(locks, name);
    explain_slow_start(clock::now() - begin);
    co_await release_for_bench(locks, first);
    for (std::uint64_t i = 0; i < warm_up_cycles; ++i) {
        lease held = co_await acquire_for_bench(locks, name);
        co_await release_for_bench(locks, held);
    }
}

std::uint64_t heartbeats_of(const lock_client& locks) {
    const client_stats stats = locks.stats();
    return stats.heartbeats + stats.heartbeats_failed;
}

// Takes turns: a slow phase of the machine then slows the locks and their limit alike. Each turn is
// short enough to keep the client waiting.
asio::awaitable<void> measure(
    lock_client& locks,
    std::string store,
    server_share& share,
    const bench_settings& settings,
    uncontended_findings& found
) {
    const std::string name = bench_lock_name();
    co_await warm_up(locks, name);
    share.connect(store);
    const unsigned turns = std::max(4u, settings.seconds);
    const auto span = milliseconds(settings.seconds * 1'000) / turns;
    progress shown("bench uncontended, turns");
    for (unsigned turn = 0; turn < turns; ++turn) {
        shown.show(turn, turns);
        if (share.meter())
            found.pings_per_s += share.meter()->pings_per_s(span) / turns;
        share.begin();
        const std::uint64_t before = heartbeats_of(locks);
        co_await cycle(locks, name, span, found.locks);
        found.heartbeats += heartbeats_of(locks) - before;
        share.end();
    }
}

asio::awaitable<int>
run(lock_client& locks,
    std::string store,
    server_share& share,
    const bench_settings& settings,
    uncontended_findings& found) {
    std::exception_ptr failed;
    try {
        co_await measure(locks, store, share, settings, found);
    } catch (...) {
        failed = std::current_exception();
    }
    co_await locks.async_stop(asio::as_tuple(asio::deferred));
    if (failed)
        std::rethrow_exception(failed);
    co_return exit_code::success;
}

}  // namespace

bench_report measure_uncontended(const std::string& store, const bench_settings& settings) {
    server_share share;
    uncontended_findings found;
    {
        asio::io_context context(1);
        client_config config;
        config.label = "bench";
        lock_client locks(context.get_executor(), open_store(store), config);
        await_main(context, run(locks, store, share, settings, found));
    }
    std::optional<double> limit;  // there is none for other kinds of store
    std::string what = "bare pairs of the transactions that this needs";
    if (share.meter()) {
        limit = found.pings_per_s / 2;
        what = "pairs of PINGs by the same client library, one after the other";
    } else if (const auto path = sqlite_path(store)) {
        limit = bare_transactions_per_s(path->parent_path(), settings.seconds) / 2;
    }
    const double rate = found.locks.per_s();
    bench_report report;
    report.add("cycles_per_s", rate, 1, "acquire and release, one after the other, one process");
    report.add("limit_per_s", limit, 1, what);
    report.add("ratio", limit ? std::optional(rate / *limit) : std::nullopt, 3, "of the two");
    share.report(report, found.locks.count, found.heartbeats);
    return report;
}

}  // namespace mortise::tool
