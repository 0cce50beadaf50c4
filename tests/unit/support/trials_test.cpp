// SPDX-License-Identifier: BSL-1.0
// Cases of this program that fail, run by itself: which of them are run again.
#include "support/child_program.hpp"
#include "support/scratch_folder.hpp"
#include "support/trials.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace mortise::test::trials_test {
namespace {

namespace fs = std::filesystem;

// What a machine does that has no time for this process.
void be_stopped() {
    const pid_t self = ::getpid();
    const pid_t helper = ::fork();
    if (helper == 0) {
        for (;;) {
            ::poll(nullptr, 0, 300);
            ::kill(self, SIGCONT);
        }
    }
    ::kill(self, SIGSTOP);
    ::kill(helper, SIGKILL);
    ::waitpid(helper, nullptr, 0);
}

TEST(TrialsProbe, DISABLED_FailsLateOnce) {
    be_stopped();
    EXPECT_NE(std::getenv("MORTISE_TRIAL"), nullptr);
}

TEST(TrialsProbe, DISABLED_FailsLate) {
    be_stopped();
    FAIL();
}

TEST(TrialsProbe, DISABLED_Fails) {
    FAIL();
}

struct run_result {
    int code = -1;
    std::string text;

    bool says(const std::string& words) const { return text.find(words) != std::string::npos; }
};

run_result run(const std::string& cases) {
    const scratch_folder folder;
    const fs::path output = folder.path() / "output";
    child_program probe(
        {"env",
         "-u",
         "GTEST_TOTAL_SHARDS",
         "-u",
         "GTEST_SHARD_INDEX",
         "-u",
         "GTEST_OUTPUT",
         "-u",
         "MORTISE_TRIAL",
         fs::read_symlink("/proc/self/exe").string(),
         "--gtest_also_run_disabled_tests",
         "--gtest_filter=TrialsProbe.DISABLED_" + cases},
        output
    );
    run_result ended;
    ended.code = probe.wait(std::chrono::seconds(60)).value_or(-1);
    std::stringstream text;
    text << std::ifstream(output).rdbuf();
    ended.text = text.str();
    return ended;
}

TEST(Trials, ACaseThatFailsOnALateMachineIsRunAgain) {
    const auto ended = run("FailsLateOnce");
    EXPECT_EQ(ended.code, 0) << ended.text;
    EXPECT_TRUE(ended.says("trial 2 of")) << ended.text;
}

TEST(Trials, ThereAreThree) {
    const auto ended = run("FailsLate");
    EXPECT_EQ(ended.code, 1) << ended.text;
    EXPECT_TRUE(ended.says("trial 3 of")) << ended.text;
    EXPECT_FALSE(ended.says("trial 4 of")) << ended.text;
}

TEST(Trials, AFailureOnAMachineInTimeCountsAtOnce) {
    const auto ended = run("Fails");
    EXPECT_EQ(ended.code, 1) << ended.text;
    const std::string words = "let a thread wait for ";
    const auto at = ended.text.find(words);
    ASSERT_NE(at, std::string::npos) << ended.text;
    const auto waited = std::stoi(ended.text.substr(at + words.size()));
    EXPECT_EQ(ended.says("trial 2 of"), waited >= trials::late.count()) << ended.text;
}

}  // namespace
}  // namespace mortise::test::trials_test
