// SPDX-License-Identifier: BSL-1.0
// The judge of `mortise bench contend`: it must see what must never happen.

#include "bench/bench_report.hpp"
#include "bench/contend.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace mortise::tool {
namespace {

/// A grant of so many microseconds; each worker asks at time 0.
contend_record
grant(std::int64_t granted, std::int64_t released, std::uint64_t token, std::uint32_t worker) {
    return {0, granted * 1'000, released * 1'000, token, worker, 1};
}

TEST(ContendReport, FindsNothingInAnOrderlyLog) {
    const contend_report report =
        judge({grant(10, 20, 1, 1), grant(25, 40, 2, 2), grant(50, 60, 3, 1)});
    EXPECT_EQ(report.overlaps, 0u);
    EXPECT_EQ(report.token_regressions, 0u);
    EXPECT_EQ(report.same_worker, 0);
    EXPECT_DOUBLE_EQ(report.gap_us_p50, 5);
    EXPECT_DOUBLE_EQ(report.gap_us_p99, 10);
    EXPECT_DOUBLE_EQ(report.wait_ms_p50, 0.025);
    EXPECT_DOUBLE_EQ(report.wait_ms_p99, 0.05);
    EXPECT_DOUBLE_EQ(report.wait_ms_max, 0.05);
    EXPECT_DOUBLE_EQ(report.locks_per_s, 3 / 50e-6);
}

TEST(ContendReport, TheOrderOfTheMergedLogsDoesNotMatter) {
    const contend_report report =
        judge({grant(50, 60, 3, 1), grant(10, 20, 1, 1), grant(25, 40, 2, 2)});
    EXPECT_EQ(report.overlaps, 0u);
    EXPECT_EQ(report.token_regressions, 0u);
}

TEST(ContendReport, SeesThatTwoHeldAtOnce) {
    EXPECT_EQ(judge({grant(10, 20, 1, 1), grant(19, 30, 2, 2)}).overlaps, 1u);
    // A long holder overlaps with each of those that came and went meanwhile.
    EXPECT_EQ(judge({grant(10, 99, 1, 1), grant(20, 30, 2, 2), grant(40, 50, 3, 3)}).overlaps, 2u);
}

TEST(ContendReport, SeesATokenThatFallsOrRepeats) {
    const auto regressions = [](std::uint64_t second, std::uint64_t third) {
        return judge({grant(10, 20, 5, 1), grant(30, 40, second, 2), grant(50, 60, third, 3)})
            .token_regressions;
    };
    EXPECT_EQ(regressions(6, 7), 0u);
    EXPECT_EQ(regressions(5, 6), 1u);
    EXPECT_EQ(regressions(4, 6), 1u);
    EXPECT_EQ(regressions(9, 8), 1u);
    EXPECT_EQ(regressions(4, 5), 2u);  // both are not above the highest so far
}

TEST(ContendReport, AGapCountsOnlyIfTheNextOneWaited) {
    contend_record late = grant(90, 95, 3, 3);
    late.asked = 80'000;  // long after the release before: the lock was free, nobody was kept
    const contend_report report = judge({grant(10, 20, 1, 1), grant(27, 30, 2, 2), late});
    EXPECT_DOUBLE_EQ(report.gap_us_p99, 7);
}

TEST(ContendReport, CountsGrantsBackToTheSameWorker) {
    const contend_report report =
        judge({grant(10, 20, 1, 1), grant(30, 40, 2, 1), grant(50, 60, 3, 2)});
    EXPECT_DOUBLE_EQ(report.same_worker, 0.5);
}

TEST(ContendReport, OfNothingIsNothing) {
    EXPECT_EQ(judge({}).locks_per_s, 0);
}

TEST(Quantile, IsTheSmallestValueThatCoversTheShare) {
    std::vector<double> values{4, 1, 3, 2};
    EXPECT_EQ(quantile(values, 0.5), 2);
    EXPECT_EQ(quantile(values, 0.51), 3);
    EXPECT_EQ(quantile(values, 1), 4);
    EXPECT_EQ(quantile(values, 0), 1);
    std::vector<double> none;
    EXPECT_EQ(quantile(none, 0.5), 0);
}

}  // namespace
}  // namespace mortise::tool
