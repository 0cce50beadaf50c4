// SPDX-License-Identifier: BSL-1.0
#include "bench/contend.hpp"

#include "bench/bench_crew.hpp"
#include "bench/bench_worker.hpp"
#include "bench/measure.hpp"
#include "bench/run_control.hpp"
#include "bench/server_share.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/task_scope.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mortise::tool {

contend_report judge(std::vector<contend_record> records) {
    contend_report report;
    if (records.empty())
        return report;
    std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
        return a.granted < b.granted;
    });
    std::vector<double> gaps;
    std::vector<double> waits;
    std::uint64_t same = 0;
    std::int64_t end = 0;  // the latest end of a hold so far
    std::uint64_t highest_token = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const contend_record& now = records[i];
        waits.push_back(static_cast<double>(now.granted - now.asked) / 1e6);
        if (i > 0) {
            const contend_record& before = records[i - 1];
            same += now.worker == before.worker;
            report.overlaps += now.granted < end;
            if (now.asked <= before.released)
                gaps.push_back(static_cast<double>(now.granted - before.released) / 1e3);
        }
        const bool any = now.token != 0 || highest_token != 0;  // not every store gives tokens
        report.token_regressions += any && now.token <= highest_token;
        highest_token = std::max(highest_token, now.token);
        end = std::max(end, now.released);
    }
    const double seconds = static_cast<double>(end - records.front().granted) / 1e9;
    const auto count = static_cast<double>(records.size());
    report.locks_per_s = seconds > 0 ? count / seconds : 0;
    report.gap_us_p50 = quantile(gaps, 0.50);
    report.gap_us_p99 = quantile(gaps, 0.99);
    report.wait_ms_p50 = quantile(waits, 0.50);
    report.wait_ms_p99 = quantile(waits, 0.99);
    report.wait_ms_max = waits.back();  // sorted above
    report.same_worker = records.size() > 1 ? static_cast<double>(same) / (count - 1) : 0;
    return report;
}

namespace {

std::int64_t now_ns() {
    return clock::now().time_since_epoch().count();
}

asio::awaitable<void> rest(std::chrono::milliseconds time) {
    if (time.count() == 0)
        co_return;
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, time);
    co_await timer.async_wait(asio::deferred);
}

/// One worker: acquires, holds and rests until every record is claimed.
asio::awaitable<void> one_worker(const bench_work& work, std::uint32_t worker) {
    const bench_settings& bench = work.settings.bench;
    for (;;) {
        const std::int64_t asked = now_ns();
        lease held = co_await acquire_for_bench(work.locks, work.settings.lock);
        const std::int64_t granted = now_ns();
        const std::uint64_t index = work.shared.claimed.fetch_add(1);
        if (index >= work.records.size()) {
            co_await release_for_bench(work.locks, held);
            co_return;
        }
        co_await rest(bench.hold);
        contend_record& record = work.records[index];
        record.asked = asked;
        record.granted = granted;
        record.token = held.token().value;
        record.worker = worker;
        record.complete = 1;
        record.released = now_ns();  // the last step: until here the holder believes in its lease
        co_await release_for_bench(work.locks, held);
        co_await rest(bench.think);
    }
}

}  // namespace

asio::awaitable<void> contend_for_lock(bench_work work) {
    const auto executor = co_await asio::this_coro::executor;
    coro::task_scope workers(executor);
    const std::uint32_t tasks = work.settings.bench.tasks;
    for (std::uint32_t task = 0; task < tasks; ++task)
        workers.spawn(one_worker(work, work.settings.index * tasks + task));
    co_await workers.join();
}

namespace {

using std::chrono::milliseconds;

/// How long no grant may come, on top of the hold time, before the measurement counts as hung.
constexpr milliseconds patience{30'000};

/// Returns when all processes have ended.
void watch(bench_crew& crew, bench_board::counters& shared, const bench_settings& settings) {
    progress shown("bench contend, acquisitions");
    std::uint64_t seen = 0;
    clock::time_point since = clock::now();
    while (!crew.wait_end(milliseconds(100))) {
        const std::uint64_t claimed = shared.claimed.load();
        shown.show(std::min(claimed, settings.acquisitions), settings.acquisitions);
        if (claimed != seen) {
            seen = claimed;
            since = clock::now();
        } else if (clock::now() - since > patience + settings.hold + settings.think) {
            throw failure(
                exit_code::unavailable,
                "nobody acquired the lock any more",
                "after " + std::to_string(seen) + " acquisitions"
            );
        }
    }
}

}  // namespace

bench_report measure_contend(const std::string& store, const bench_settings& settings) {
    const bench_board board = bench_board::create(settings.acquisitions);
    bench_crew crew(store, settings, board);
    server_share share;
    share.connect(store);
    share.begin(false);
    crew.begin();
    watch(crew, board.shared(), settings);
    crew.check();
    share.end(false);

    const auto records = board.records();
    std::vector<contend_record> log(records.begin(), records.end());
    if (!std::all_of(log.begin(), log.end(), [](const auto& r) { return r.complete == 1; }))
        throw failure(exit_code::unavailable, "the log of the measurement has holes");
    const contend_report found = judge(std::move(log));
    bench_report report;
    report.add("locks_per_s", found.locks_per_s, 1, "acquired, by all workers together");
    report.add(
        "gap_us.p50",
        found.gap_us_p50,
        1,
        "microseconds from a release to the next holder's going on, if one waits"
    );
    report.add("gap_us.p99", found.gap_us_p99, 1, "of a hundred gaps, one is longer");
    report.add("wait_ms.p50", found.wait_ms_p50, 2, "milliseconds that a worker waits");
    report.add("wait_ms.p99", found.wait_ms_p99, 2, "of a hundred waits, one is longer");
    report.add("wait_ms.max", found.wait_ms_max, 2, "that the unluckiest waited");
    report.add("same_worker", found.same_worker, 4, "share of grants back to the same worker");
    share.report(report, board.shared().claimed.load(), board.shared().heartbeats.load());
    report.add_fault(
        "overlaps",
        static_cast<double>(found.overlaps),
        "times that two believed to hold the lock: must be 0"
    );
    report.add_fault(
        "token_regressions",
        static_cast<double>(found.token_regressions),
        "grants whose token did not grow: must be 0"
    );
    return report;
}

}  // namespace mortise::tool
