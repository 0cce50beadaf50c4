// SPDX-License-Identifier: BSL-1.0
// `mortise run` with shared locks, permits and `hold_max`; and what signals leave behind.

#include "chaos/cli_fixture.hpp"
#include "mortise/coro/clock.hpp"

#include <signal.h>

#include <chrono>
#include <sstream>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// The variables of the environment in which a command runs.
struct found {
    std::string token, domain, slot;

    explicit found(const cli_process& run) {
        std::istringstream output(run.out());
        EXPECT_TRUE(output >> token >> domain >> slot) << run.out();
    }
};

constexpr const char* tell_and_stay =
    "echo $MORTISE_TOKEN $MORTISE_TOKEN_DOMAIN $MORTISE_SLOT; exec sleep 60";

bool has_printed(const cli_process& run) {
    return eventually([&] { return run.out().ends_with("\n"); });
}

TEST_F(Cli, SharedRunsMeetAndKeepOthersOut) {
    cli_process first = start_script({"--lock", "a", "--shared"}, tell_and_stay);
    cli_process second = start_script({"--lock", "a", "--shared"}, tell_and_stay);
    ASSERT_TRUE(has_printed(first) && has_printed(second)) << first.err() << second.err();
    EXPECT_EQ(found(first).slot, "0");
    EXPECT_EQ(start({"run", "--lock", "a", "--wait", "0", "--", "true"}).wait(), 75);
    cli_process writer = start({"run", "--lock", "a", "--", "true"});
    ASSERT_TRUE(eventually([&] { return waiters_of("a") == 1; }));
    first.send(SIGTERM);
    EXPECT_EQ(first.wait(), 128 + SIGTERM);
    EXPECT_EQ(waiters_of("a"), 1);  // the other reader still shares it
    second.send(SIGTERM);
    EXPECT_EQ(second.wait(), 128 + SIGTERM);
    EXPECT_EQ(writer.wait(2s), 0) << writer.err();
}

TEST_F(Cli, PermitsAreCountedAndEachHasASlotAndATokenDomain) {
    const std::vector<std::string> options{"--lock", "a", "--permits", "2"};
    cli_process first = start_script(options, tell_and_stay);
    ASSERT_TRUE(has_printed(first)) << first.err();
    cli_process second = start_script(options, tell_and_stay);
    ASSERT_TRUE(has_printed(second)) << second.err();
    EXPECT_EQ(found(first).slot, "1");
    EXPECT_EQ(found(second).slot, "2");
    EXPECT_TRUE(found(first).domain.ends_with("#1")) << found(first).domain;
    EXPECT_TRUE(found(second).domain.ends_with("#2")) << found(second).domain;
    cli_process third =
        start({"run", "--lock", "a", "--permits", "2", "--wait", "0", "--", "true"});
    EXPECT_EQ(third.wait(), 75) << third.err();
    cli_process other = start({"run", "--lock", "a", "--permits", "3", "--", "true"});
    EXPECT_EQ(other.wait(), 64);
    EXPECT_NE(other.err().find("--permits"), std::string::npos) << other.err();
    first.send(SIGTERM);
    EXPECT_EQ(first.wait(), 128 + SIGTERM);
    cli_process next = start_script({"--lock", "a", "--permits", "2"}, "echo x x $MORTISE_SLOT");
    EXPECT_EQ(next.wait(2s), 0) << next.err();
    EXPECT_EQ(found(next).slot, "1");
}

TEST_F(Cli, AfterTheLongestTimeTheCommandIsEndedAndTheNextOneRuns) {
    cli_process run = start_script({"--lock", "a", "--hold-max", "600ms"}, tell_and_stay);
    ASSERT_TRUE(has_printed(run)) << run.err();
    cli_process next = start({"run", "--lock", "a", "--", "true"});
    EXPECT_EQ(run.wait(3s), 76);
    EXPECT_NE(run.err().find("the lock was lost"), std::string::npos) << run.err();
    EXPECT_EQ(next.wait(3s), 0) << next.err();
}

TEST_F(Cli, AnInterruptedMeasurementLeavesNothing) {
    for (const char* kind : {"contend", "handoff", "uncontended"}) {
        const std::string store = environment_.front().second;
        std::vector<std::string> arguments{"--store", store, "bench", kind};
        if (std::string(kind) == "contend")
            arguments.insert(arguments.end(), {"--acquisitions", "1000000", "--processes", "2"});
        else
            arguments.insert(arguments.end(), {"--seconds", "60"});
        cli_process bench = start(arguments);
        ASSERT_TRUE(eventually([&] { return !listed().at("locks").as_array().empty(); })) << kind;
        bench.send(SIGTERM);
        EXPECT_EQ(bench.wait(), 128 + SIGTERM) << kind;
        EXPECT_TRUE(listed().at("locks").as_array().empty()) << kind;
    }
}

}  // namespace
}  // namespace mortise::test
