// SPDX-License-Identifier: BSL-1.0
// Coordinators killed at each of their named points, and again during the recovery of what they
// left. The judge reads the tables of the participants.
#include "chaos/looked_at_file.hpp"
#include "chaos/transfer_judge.hpp"
#include "support/built_program.hpp"
#include "support/child_program.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace mortise::test::txn_crash_test {
namespace {

using namespace std::chrono_literals;

constexpr int killed = 128 + SIGKILL;

class TxnCrash : public testing::Test {
protected:
    /// @return its exit code, or 128 plus the signal that killed it.
    int
    run(const std::vector<std::string>& words,
        const std::vector<std::string>& settings,
        std::chrono::milliseconds limit = 60s) {
        std::vector<std::string> command{"env"};
        command.insert(command.end(), settings.begin(), settings.end());
        command.emplace_back(built_program("tests/txn_actor"));
        command.push_back(folder_.path());
        command.insert(command.end(), words.begin(), words.end());
        child_program actor(command, output());
        return actor.wait(limit).value_or(-1);
    }
    int transfers(int count, const std::vector<std::string>& settings = {}) {
        return run({"transfers", std::to_string(count)}, settings);
    }
    int settle(const std::vector<std::string>& settings = {}) { return run({"settle"}, settings); }

    static std::string crash_at(const char* point, int time) {
        return std::string("MORTISE_CRASH_AT=") + point + ':' + std::to_string(time);
    }

    std::filesystem::path output() const { return folder_.path() / "output"; }
    std::string printed() const {
        std::ifstream file(output());
        return {std::istreambuf_iterator<char>(file), {}};
    }

    void expect_settled() {
        ASSERT_EQ(settle(), 0) << printed();
        EXPECT_EQ(judge_transfers(folder_.path()).wrong, "");
    }

    const scratch_folder folder_;
};

struct point {
    const char* name;
    std::vector<int> times;
};

void PrintTo(const point& point, std::ostream* to) {
    *to << point.name;
}

class TxnCrashAt : public TxnCrash, public testing::WithParamInterface<point> {};

// The first time is early, when little happens; later ones come amid sixteen transfers.
INSTANTIATE_TEST_SUITE_P(
    Points,
    TxnCrashAt,
    testing::Values(
        point{"log.take_over", {1, 5}},
        point{"txn.begin", {1, 30}},
        point{"log.begin", {1, 2, 30}},
        point{"txn.begun", {1, 30}},
        point{"bank.received", {1, 2, 40, 41}},
        point{"bank.committed", {1, 2, 3, 40, 41}},
        point{"txn.called", {1, 2, 3, 40, 41, 42}},
        point{"txn.decide", {1, 20}},
        point{"log.decide", {1, 2, 20}},
        point{"txn.decided", {1, 20}},
        point{"txn.answered", {1, 20}},
        point{"txn.end", {1, 20}},
        point{"log.progress", {1, 20}},
        point{"txn.ended", {1, 20}}
    ),
    [](const auto& each) {
        std::string name = each.param.name;
        for (auto& letter : name)
            letter = letter == '.' ? '_' : letter;
        return name;
    }
);

TEST_P(TxnCrashAt, NothingIsLostDoubledOrHalfDone) {
    for (const int time : GetParam().times) {
        SCOPED_TRACE(time);
        ASSERT_EQ(transfers(60, {crash_at(GetParam().name, time)}), killed) << printed();
    }
    expect_settled();
    EXPECT_EQ(transfers(20), 0) << printed();
    const auto verdict = judge_transfers(folder_.path());
    EXPECT_EQ(verdict.wrong, "");
    EXPECT_GT(verdict.confirmed, 0u);
    EXPECT_GE(verdict.outcomes, 20u);
}

TEST_F(TxnCrash, RecoveryCanBeKilledAtEveryRecordAndAtEveryStep) {
    ASSERT_EQ(transfers(100, {crash_at("txn.decided", 40)}), killed);
    for (const char* name : {"txn.take_up", "txn.decide", "log.decide", "txn.decided"}) {
        // Each death ends some of the open transactions, so each comes a little later than the
        // last.
        for (const int time : {1, 3, 2})
            static_cast<void>(settle({crash_at(name, time)}));
    }
    for (const char* name : {"bank.committed", "txn.called", "txn.end", "txn.ended"})
        static_cast<void>(settle({crash_at(name, 1)}));
    expect_settled();
}

TEST_F(TxnCrash, RecoveryIsKilledAtTheFirstRecordThatItTakesUp) {
    ASSERT_EQ(transfers(60, {crash_at("txn.called", 50)}), killed);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(settle({crash_at("txn.take_up", 1)}), killed) << "what is open is still open";
    expect_settled();
}

TEST_F(TxnCrash, WhatHasEndedIsLeftInPeace) {
    ASSERT_EQ(transfers(30), 0) << printed();
    EXPECT_EQ(settle({crash_at("bank.received", 1)}), 0) << "nobody is called";
    EXPECT_EQ(settle({crash_at("txn.take_up", 1)}), 0) << "nothing is taken up";
    EXPECT_EQ(judge_transfers(folder_.path()).wrong, "");
}

TEST_F(TxnCrash, WhatAnOperatorDoesIsDoneAndOnRecordOrNeither) {
    ASSERT_EQ(run({"stuck"}, {}), 0) << printed();
    const auto count = [this](const char* table) {
        const looked_at_file file(folder_.path() / "log.db");
        auto on = file.connect();
        auto row = on.query(std::string("SELECT count(*) FROM ") + table);
        row.step();
        return row.integer(0);
    };
    ASSERT_EQ(run({"mend"}, {crash_at("log.action", 1)}), killed) << printed();
    EXPECT_EQ(count("mortise_txn_action"), 0);
    EXPECT_EQ(count("mortise_txn WHERE ended IS NULL"), 1);
    ASSERT_EQ(run({"mend"}, {}), 0) << printed();
    EXPECT_EQ(count("mortise_txn_action WHERE what = 'skip' AND who = 'the test'"), 1);
    EXPECT_EQ(count("mortise_txn WHERE ended IS NULL"), 0);
}

// Shows what the points are good for: the judge finds this planted bug.
TEST_F(TxnCrash, AConfirmThatIsSentBeforeItsDecisionIsDurableIsFound) {
    const std::string bug = "MORTISE_PLANT=confirm_before_commit";
    // The first sixteen transfers make 32 tries; confirms follow.
    ASSERT_EQ(transfers(60, {bug, crash_at("txn.called", 40)}), killed) << printed();
    EXPECT_EQ(run({"settle"}, {}, 2s), -1) << "a branch that is confirmed cannot be cancelled";
    const auto wrong = judge_transfers(folder_.path()).wrong;
    EXPECT_NE(wrong.find("the log says something else"), std::string::npos) << wrong;
}

}  // namespace
}  // namespace mortise::test::txn_crash_test
