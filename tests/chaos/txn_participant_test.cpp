// SPDX-License-Identifier: BSL-1.0
// Participants in separate processes, called over HTTP, that are killed and stopped while transfers
// are under way.
#include "chaos/transfer_judge.hpp"
#include "support/built_program.hpp"
#include "support/child_program.hpp"
#include "support/eventually.hpp"
#include "support/port_reservation.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test::txn_participant_test {
namespace {

using namespace std::chrono_literals;

constexpr int killed = 128 + SIGKILL;

class TxnParticipant : public testing::Test {
protected:
    using program = std::unique_ptr<child_program>;

    /// Starts a bank, with a crash point if one is named.
    program start_bank(const std::string& name, const std::string& crash_at = "none:1") const {
        const auto port = name == "here" ? here_.port() : there_.port();
        return start({"bank", name, std::to_string(port)}, crash_at);
    }
    program start_transfers(int count, const std::string& crash_at = "none:1") const {
        return start({"transfers", std::to_string(count), url("here"), url("there")}, crash_at);
    }
    program start_settle() const { return start({"settle", url("here"), url("there")}, "none:1"); }

    std::string printed() const {
        std::ifstream file(folder_.path() / "output");
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::size_t outcome_count() const {
        std::ifstream file(folder_.path() / "told");
        return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
    }
    std::string wrong() const { return judge_transfers(folder_.path()).wrong; }

    const scratch_folder folder_;

private:
    program start(const std::vector<std::string>& words, const std::string& crash_at) const {
        std::vector<std::string> command{
            "env",
            "MORTISE_CRASH_AT=" + crash_at,
            built_program("tests/txn_actor"),
            folder_.path()};
        command.insert(command.end(), words.begin(), words.end());
        return std::make_unique<child_program>(command, folder_.path() / "output");
    }
    std::string url(const std::string& name) const {
        const auto port = name == "here" ? here_.port() : there_.port();
        return name + "=http://127.0.0.1:" + std::to_string(port) + '/' + name;
    }

    const port_reservation here_;
    const port_reservation there_;
};

// It dies before its commit and after it, in tries and in later calls.
TEST_F(TxnParticipant, MayDieAtEachOfItsCalls) {
    const auto there = start_bank("there");
    auto here = start_bank("here", "bank.received:1");
    const auto transfers = start_transfers(150);
    const char* const points[] = {
        "bank.committed:1",
        "bank.received:9",
        "bank.committed:10",
        "bank.received:40",
        "bank.committed:41",
        "bank.committed:2"};
    for (const char* const next : points) {
        ASSERT_EQ(here->wait(30s), killed) << printed();
        here = start_bank("here", next);
    }
    ASSERT_EQ(here->wait(30s), killed) << printed();
    here = start_bank("here");
    EXPECT_EQ(transfers->wait(60s), 0) << printed();
    EXPECT_EQ(wrong(), "");
    EXPECT_EQ(outcome_count(), 150u);
}

TEST_F(TxnParticipant, MayBeAwayForAWhileAndTheRestIsFinishedThen) {
    const auto there = start_bank("there");
    auto here = start_bank("here", "bank.committed:50");
    const auto transfers = start_transfers(60);
    ASSERT_EQ(here->wait(30s), killed) << printed();
    EXPECT_FALSE(transfers->wait(1s)) << "what is decided waits for it";
    here = start_bank("here");
    EXPECT_EQ(transfers->wait(60s), 0) << printed();
    EXPECT_EQ(wrong(), "");
}

TEST_F(TxnParticipant, MayBeStoppedInTheMiddle) {
    const auto there = start_bank("there");
    const auto here = start_bank("here");
    const auto transfers = start_transfers(400);
    for (int i = 0; i < 3; ++i) {
        const auto before = outcome_count();
        EXPECT_TRUE(eventually([&] { return outcome_count() > before + 20; }, 30s)) << printed();
        here->suspend();
        EXPECT_FALSE(transfers->wait(700ms));
        here->resume();
    }
    EXPECT_EQ(transfers->wait(60s), 0) << printed();
    EXPECT_EQ(wrong(), "");
}

// Both die: the coordinator at its point, the participant at its own or soon after.
TEST_F(TxnParticipant, MayDieTogetherWithTheCoordinator) {
    const auto there = start_bank("there");
    for (const char* const point : {"txn.called:30", "txn.decided:5", "txn.end:3"}) {
        const auto here = start_bank("here", "bank.committed:60");
        const auto transfers = start_transfers(200, point);
        EXPECT_EQ(transfers->wait(30s), killed) << printed();
        here->send(SIGKILL);
        EXPECT_EQ(here->wait(), killed);
    }
    const auto here = start_bank("here");
    EXPECT_EQ(start_settle()->wait(60s), 0) << printed();
    EXPECT_EQ(wrong(), "");
}

}  // namespace
}  // namespace mortise::test::txn_participant_test
