// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_crew.hpp"
#include "bench/measure.hpp"
#include "bench/progress.hpp"
#include "exit_code.hpp"
#include "failure.hpp"
#include "mortise/coro/clock.hpp"

#include <chrono>
#include <optional>

namespace mortise::tool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds handoff_warm_up{300};
constexpr milliseconds handoff_end_max{30'000};

double seconds_of(clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

bench_report measure_handoff(const std::string& store, const bench_settings& settings) {
    const bench_board board = bench_board::create(0);
    bench_board::counters& shared = board.shared();
    bench_crew crew(store, settings, board);
    crew.begin();
    crew.run_for(handoff_warm_up);
    progress shown("bench handoff, seconds");
    const std::uint64_t first = shared.handoffs.load();
    const clock::time_point begin = clock::now();
    for (unsigned second = 0; second < settings.seconds; ++second) {
        shown.show(second, settings.seconds);
        crew.run_for(milliseconds(1'000));
    }
    const std::uint64_t last = shared.handoffs.load();
    const double seconds = seconds_of(clock::now() - begin);
    shared.stop.store(1);
    if (!crew.wait_end(handoff_end_max))
        throw failure(exit_code::unavailable, "the processes of the measurement do not end");
    crew.check();

    const double rate = static_cast<double>(last - first) / seconds;
    std::optional<double> limit;
    if (const std::uint64_t pings = shared.pings.load())
        limit = static_cast<double>(pings) * 1e9 / static_cast<double>(shared.ping_ns.load());
    bench_report report;
    report.add("handoffs_per_s", rate, 1, "the lock passed from one process to another");
    report.add(
        "limit_per_s",
        limit,
        1,
        store.starts_with("redis") ? "messages published at the server, one way, likewise"
                                   : "bare datagrams, one way, between two of these processes"
    );
    report.add("ratio", limit ? std::optional(rate / *limit) : std::nullopt, 3, "of the two");
    return report;
}

}  // namespace mortise::tool
