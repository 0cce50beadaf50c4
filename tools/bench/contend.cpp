// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_crew.hpp"
#include "bench/contend_report.hpp"
#include "bench/measure.hpp"
#include "bench/progress.hpp"
#include "bench/server_share.hpp"
#include "exit_code.hpp"
#include "failure.hpp"
#include "mortise/coro/clock.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::tool {
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
    share.begin();
    crew.begin();
    watch(crew, board.shared(), settings);
    crew.check();
    share.end();

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
