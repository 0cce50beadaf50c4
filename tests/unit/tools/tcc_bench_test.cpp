// SPDX-License-Identifier: BSL-1.0
// What `mortise bench tcc` measures besides: a stop in order, and a backlog.
#include "bench/tcc_phases.hpp"
#include "support/scratch_folder.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

namespace mortise::test::tcc_bench_test {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

json::value written(const tool::bench_report& report) {
    std::ostringstream text;
    report.write(text, true);
    return json::parse(text.str());
}

TEST(TccBench, AStopInOrderHandsOverWhateverIsUnderWay) {
    const scratch_folder folder;
    constexpr std::uint64_t many = 300;
    const auto turn = tool::handover_turn(folder.path(), many);
    tool::bench_report report;
    tool::add_handover(report, turn, many);
    EXPECT_TRUE(report.faultless());
    const auto found = written(report);
    EXPECT_GT(found.at("handover_ms").to_number<double>(), 0);
    EXPECT_GT(found.at("handover_stop_ms").to_number<double>(), 0);
    EXPECT_EQ(found.at("handover_lost").to_number<int>(), 0);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "its files are gone";
}

TEST(TccBench, ABacklogIsMeasuredBesideNoneAndDrained) {
    const scratch_folder folder;
    auto turns = tool::backlog_turns(folder.path(), {4, 20ms, 300}, 2);
    EXPECT_EQ(turns.drained, 300u);
    tool::bench_report report;
    tool::add_backlog(report, turns);
    EXPECT_TRUE(report.faultless());
    const auto found = written(report);
    for (const char* key :
         {"backlog_p99_us", "backlog_p99_ratio", "backlog_p99_noise", "backlog_drain_per_s"})
        EXPECT_GT(found.at(key).to_number<double>(), 0) << key;
    EXPECT_EQ(found.at("backlog_left").to_number<int>(), 0);
    EXPECT_EQ(found.at("backlog_not_confirmed").to_number<int>(), 0);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "its files are gone";
}

}  // namespace
}  // namespace mortise::test::tcc_bench_test
