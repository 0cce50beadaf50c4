// SPDX-License-Identifier: BSL-1.0
// `mortise run` as a process: exit codes, environment, exclusion, signals.

#include "chaos/cli_fixture.hpp"
#include "mortise/coro/clock.hpp"

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <sstream>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

TEST_F(Cli, RunGivesTheExitCodeOfTheCommand) {
    EXPECT_EQ(start_script({"--lock", "a"}, "exit 0").wait(), 0);
    EXPECT_EQ(start_script({"--lock", "a"}, "exit 3").wait(), 3);
    EXPECT_EQ(start_script({"--lock", "a"}, "kill -KILL $$").wait(), 128 + SIGKILL);
}

TEST_F(Cli, RunTellsAbsentFromNotExecutable) {
    cli_process absent = start({"run", "--lock", "a", "--", "no-such-program"});
    EXPECT_EQ(absent.wait(), 127);
    EXPECT_NE(absent.err().find("no-such-program"), std::string::npos) << absent.err();
    EXPECT_EQ(start({"run", "--lock", "a", "--", "/etc/passwd"}).wait(), 126);
    EXPECT_EQ(waiters_of("a"), -1);  // and releases the lock
}

TEST_F(Cli, TokensGrowFromRunToRun) {
    std::uint64_t before = 0;
    std::string domain;
    for (int i = 0; i < 4; ++i) {
        cli_process run = start_script(
            {"--lock", "a"}, "echo $MORTISE_TOKEN $MORTISE_TOKEN_DOMAIN $MORTISE_LOCK"
        );
        ASSERT_EQ(run.wait(), 0) << run.err();
        std::istringstream output(run.out());
        std::uint64_t token = 0;
        std::string its_domain;
        std::string lock;
        ASSERT_TRUE(output >> token >> its_domain >> lock) << run.out();
        EXPECT_GT(token, before);
        EXPECT_EQ(lock, "a");
        EXPECT_TRUE(i == 0 || its_domain == domain) << its_domain << " after " << domain;
        before = token;
        domain = its_domain;
    }
}

TEST_F(Cli, RunsExcludeEachOther) {
    std::vector<cli_process> runs;
    for (int i = 0; i < 4; ++i)
        runs.push_back(start_script(
            {"--lock", "a"}, "echo begin >> $FOLDER/log; sleep 0.05; echo end >> $FOLDER/log"
        ));
    for (cli_process& run : runs)
        EXPECT_EQ(run.wait(), 0) << run.err();
    std::string expected;
    for (int i = 0; i < 4; ++i)
        expected += "begin\nend\n";
    EXPECT_EQ(text_of(file("log")), expected);
}

TEST_F(Cli, RunGivesUpWhenTheLockIsNotFreeInTime) {
    cli_process holder = start_script({"--lock", "a"}, "echo mine; sleep 60");
    ASSERT_TRUE(eventually([&] { return holder.out() == "mine\n"; })) << holder.err();
    cli_process at_once = start({"run", "--lock", "a", "--wait", "0", "--", "true"});
    EXPECT_EQ(at_once.wait(), 75);
    EXPECT_NE(at_once.err().find("held by somebody else: a; "), std::string::npos) << at_once.err();
    const auto begin = clock::now();
    EXPECT_EQ(start({"run", "--lock", "a", "--wait", "300ms", "--", "true"}).wait(), 75);
    EXPECT_GE(clock::now() - begin, 300ms);
    EXPECT_EQ(start({"run", "--lock", "b", "--wait", "0", "--", "true"}).wait(), 0);
    EXPECT_EQ(waiters_of("a"), 0);  // nothing of their requests is left
}

TEST_F(Cli, SignalsAreForwarded) {
    const std::string script = "trap 'exit 7' TERM; trap 'echo usr1' USR1; echo ready; "
                               "while :; do sleep 0.02; done";
    cli_process run = start_script({"--lock", "a"}, script);
    ASSERT_TRUE(eventually([&] { return run.out() == "ready\n"; })) << run.err();
    run.send(SIGUSR1);
    EXPECT_TRUE(eventually([&] { return run.out() == "ready\nusr1\n"; })) << run.out();
    run.send(SIGTERM);
    EXPECT_EQ(run.wait(), 7);
    EXPECT_EQ(waiters_of("a"), -1);
    cli_process plain = start_script({"--lock", "a"}, "echo ready; exec sleep 60");
    ASSERT_TRUE(eventually([&] { return plain.out() == "ready\n"; })) << plain.err();
    plain.send(SIGINT);
    EXPECT_EQ(plain.wait(), 128 + SIGINT);
}

TEST_F(Cli, AWaitingRunIsToldWhenTheHolderEnds) {
    cli_process holder = start_script({"--lock", "a"}, "echo mine; exec sleep 60");
    ASSERT_TRUE(eventually([&] { return holder.out() == "mine\n"; })) << holder.err();
    cli_process waiter = start({"run", "--lock", "a", "--", "true"});
    ASSERT_TRUE(eventually([&] { return waiters_of("a") == 1; }));
    holder.send(SIGTERM);
    EXPECT_EQ(holder.wait(), 128 + SIGTERM);
    EXPECT_EQ(waiter.wait(2s), 0) << waiter.err();  // well before the TTL of 5 s
}

}  // namespace
}  // namespace mortise::test
