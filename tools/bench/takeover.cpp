// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_crew.hpp"
#include "bench/bench_worker.hpp"
#include "bench/measure.hpp"
#include "bench/run_control.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/with_store.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/task_scope.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

namespace mortise::tool {
namespace {

using std::chrono::milliseconds;

/// How long after the TTL the next holder may hear of its grant.
constexpr milliseconds grace{100};
constexpr milliseconds queue_limit{30'000};

asio::awaitable<void> wait_for_it(lock_client& locks, std::string name, clock::time_point& when) {
    lease held = co_await acquire_for_bench(locks, name);
    when = clock::now();
    co_await release_for_bench(locks, held);
}

/// Waits until the store knows of a waiter.
asio::awaitable<void> await_queued(lock_client& locks, std::string name) {
    const clock::time_point end = clock::now() + queue_limit;
    for (;;) {
        const auto seen = co_await locks.async_inspect(name, 1);
        if (seen && seen->waiter_count != 0)
            co_return;
        if (clock::now() > end)
            throw failure(exit_code::unavailable, "the waiter of the measurement does not wait");
        co_await pause_for(milliseconds(5));
    }
}

/// Kills a process that holds the lock. @return the time until its waiter has it.
asio::awaitable<clock::duration>
kill_a_holder(lock_client& locks, std::string store, bench_settings settings, milliseconds phase) {
    const std::string name = bench_lock_name();
    const bench_board board = bench_board::create(0);
    bench_crew crew(store, settings, board);  // one process, ready when it holds the lock
    const auto executor = co_await asio::this_coro::executor;
    coro::task_scope waiting(executor);
    clock::time_point granted;
    waiting.spawn(wait_for_it(locks, name, granted));
    co_await await_queued(locks, name);
    co_await pause_for(phase);
    const clock::time_point killed = clock::now();
    crew.kill();
    co_await waiting.join();
    co_return granted - killed;
}

asio::awaitable<int> measure(
    lock_client& locks, std::string store, bench_settings settings, std::vector<double>& times
) {
    // Kill at any part of the time between two heartbeats.
    std::minstd_rand dice(static_cast<unsigned>(clock::now().time_since_epoch().count()));
    std::uniform_int_distribution<std::int64_t> phases(0, settings.ttl.count() / 3);
    progress shown("bench takeover, kills");
    for (unsigned kill = 0; kill < settings.kills; ++kill) {
        shown.show(kill, settings.kills);
        const milliseconds phase(phases(dice));
        const clock::duration took = co_await kill_a_holder(locks, store, settings, phase);
        times.push_back(std::chrono::duration<double, std::milli>(took).count());
        interruption::check();
    }
    co_return exit_code::success;
}

}  // namespace

bench_report measure_takeover(const std::string& store, const bench_settings& settings) {
    bench_settings one = settings;
    one.processes = 1;
    std::vector<double> times;
    client_config config;
    config.label = "bench";
    config.ttl = settings.ttl;
    global_settings global;
    global.store = store;
    const store_work work = [&](lock_client& locks) { return measure(locks, store, one, times); };
    with_store(global, config, work);
    const auto limit = static_cast<double>((settings.ttl + grace).count());
    const auto late =
        std::count_if(times.begin(), times.end(), [&](double t) { return t > limit; });
    bench_report report;
    report.add("takeover_ms.p50", quantile(times, 0.5), 1, "from the kill to the next grant");
    report.add("takeover_ms.max", quantile(times, 1), 1, "of the slowest");
    report.add("limit_ms", limit, 0, "the TTL and 100 ms");
    report.add("ratio", quantile(times, 1) / limit, 3, "of the slowest to the limit");
    report.add_fault("late", static_cast<double>(late), "grants beyond the limit: must be 0");
    return report;
}

}  // namespace mortise::tool
