// SPDX-License-Identifier: BSL-1.0
// `mortise run` if the lock is lost or mortise dies, and on a terminal.

#include "chaos/cli_fixture.hpp"
#include "mortise/coro/clock.hpp"
#include "support/built_program.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// Waits until the script has written its process id, and returns the id.
pid_t id_from(const std::filesystem::path& file) {
    EXPECT_TRUE(eventually([&] { return text_of(file).ends_with("\n"); }));
    const std::string text = text_of(file);
    return text.empty() ? -1 : static_cast<pid_t>(std::stol(text));
}

TEST_F(Cli, ACommandThatDoesNotListenIsKilledAfterTheGraceTime) {
    const std::string script = "trap '' TERM; echo $$ > $FOLDER/pid; while :; do sleep 0.02; done";
    cli_process run = start_script({"--lock", "a", "--ttl", "400ms", "--grace", "200ms"}, script);
    const pid_t command = id_from(file("pid"));
    ASSERT_GT(command, 0) << run.err();
    run.send(SIGSTOP);
    ::usleep(800'000);  // beyond the TTL: time must pass, no event tells of it
    run.send(SIGCONT);
    EXPECT_EQ(run.wait(), 76) << run.err();
    EXPECT_FALSE(runs(command));
}

TEST_F(Cli, TheCommandDiesWithMortiseAndTheLockIsFreeAtOnce) {
    cli_process run = start_script({"--lock", "a"}, "echo $$ > $FOLDER/pid; exec sleep 60");
    const pid_t command = id_from(file("pid"));
    ASSERT_GT(command, 0) << run.err();
    EXPECT_TRUE(runs(command));
    cli_process next = start({"run", "--lock", "a", "--", "true"});
    ASSERT_TRUE(eventually([&] { return waiters_of("a") == 1; }));
    run.send(SIGKILL);
    EXPECT_EQ(run.wait(), 128 + SIGKILL);
    EXPECT_TRUE(eventually([&] { return !runs(command); }, 2s));
    EXPECT_EQ(next.wait(2s), 0) << next.err();  // well before the TTL of 5 s
}

TEST_F(Cli, CtrlCReachesTheCommandOnce) {
    // Do not use a shell: it runs a trap only once for several signals that come while it waits.
    const std::string script = R"(
import signal, time
count = 0
def note(number, frame):
    global count
    count += 1
signal.signal(signal.SIGINT, note)
print("ready", flush=True)
end = time.monotonic() + 0.4
while time.monotonic() < end:
    time.sleep(0.01)
print("count=%d" % count)
)";
    int status = 0;
    const std::string store = environment_.front().second;
    const std::string seen = typed_at(
        {built_program("tools/mortise"),
         "--store",
         store,
         "run",
         "--lock",
         "a",
         "--",
         "python3",
         "-c",
         script},
        status
    );
    EXPECT_NE(seen.find("count=1"), std::string::npos) << seen;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace mortise::test
