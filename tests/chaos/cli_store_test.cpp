// SPDX-License-Identifier: BSL-1.0
// `mortise` as a process at each kind of store: how a command ends that runs under a lock, and what
// `break` and `watch` do.

#include "chaos/cli_store.hpp"
#include "support/redis_server.hpp"

#include <boost/json/parse.hpp>

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::test::cli_store_test {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

/// Short, and long enough for a busy machine.
constexpr const char* ttl = "3s";

/// The changes in the output of `mortise watch --json`: "acquired", one for each line.
std::vector<std::string> changes_in(const std::string& out) {
    std::vector<std::string> changes;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line) && !lines.eof();)
        changes.emplace_back(json::parse(line).at("change").as_string());
    return changes;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

bool has_printed(const cli_process& run) {
    return eventually([&] { return run.out().ends_with("\n"); });
}

TEST_P(CliAtStore, AStoppedRunLosesItsLockAndStopsItsCommandOnWaking) {
    const std::string script = "echo $MORTISE_TOKEN; trap 'echo told; exit 9' TERM; "
                               "while :; do sleep 0.02; done";
    cli_process stopped = run({"--ttl", ttl}, script);
    ASSERT_TRUE(has_printed(stopped)) << stopped.err();
    stopped.send(SIGSTOP);
    cli_process next = run({"--wait", "30s"}, "echo $MORTISE_TOKEN");
    EXPECT_EQ(next.wait(), 0) << next.err();  // after the TTL, although nobody released it
    EXPECT_GT(std::stoull(next.out()), std::stoull(stopped.out()));
    EXPECT_FALSE(has(stopped.out(), "told"));
    stopped.send(SIGCONT);
    EXPECT_EQ(stopped.wait(), 76);
    EXPECT_TRUE(stopped.out().ends_with("told\n")) << stopped.out();
    EXPECT_TRUE(has(stopped.err(), "the lock was lost")) << stopped.err();
    EXPECT_TRUE(has(stopped.err(), "exit code was 9")) << stopped.err();
}

TEST_P(CliAtStore, TheCommandDiesWithMortiseAndTheLockPassesOn) {
    cli_process killed = run({"--ttl", ttl}, "echo $$; exec sleep 60");
    ASSERT_TRUE(has_printed(killed)) << killed.err();
    const auto command = static_cast<pid_t>(std::stol(killed.out()));
    EXPECT_TRUE(runs(command));
    cli_process next = run({}, "echo mine");
    ASSERT_TRUE(one_waits());
    killed.send(SIGKILL);
    EXPECT_EQ(killed.wait(), 128 + SIGKILL);
    EXPECT_TRUE(eventually([&] { return !runs(command); }));
    EXPECT_EQ(next.wait(), 0) << next.err();
    EXPECT_EQ(next.out(), "mine\n");
}

TEST_P(CliAtStore, ASignalEndsTheWaitingAndLeavesNothing) {
    cli_process holder = run({}, "echo mine; sleep 60");
    ASSERT_TRUE(has_printed(holder)) << holder.err();
    cli_process waiter = start({"run", "--lock", lock_, "--", "touch", file("ran").native()});
    ASSERT_TRUE(one_waits());
    waiter.send(SIGTERM);
    EXPECT_EQ(waiter.wait(), 128 + SIGTERM);
    EXPECT_EQ(waiters_of(lock_), 0);
    EXPECT_FALSE(std::filesystem::exists(file("ran")));
}

TEST_P(CliAtStore, ATermWhileHoldingPassesTheLockOnAtOnce) {
    cli_process holder = run({"--ttl", "30s"}, "echo; exec sleep 60");
    ASSERT_TRUE(has_printed(holder)) << holder.err();
    cli_process next = run({"--ttl", "30s"}, "date +%s%N");
    ASSERT_TRUE(one_waits());
    holder.send(SIGTERM);
    EXPECT_EQ(holder.wait(), 128 + SIGTERM);
    EXPECT_EQ(next.wait(5s), 0) << next.err();  // long before the TTL
    EXPECT_EQ(waiters_of(lock_), -1);
}

TEST_P(CliAtStore, BreakPassesTheLockOnAndIsRecorded) {
    cli_process holder = run({}, "echo $MORTISE_TOKEN; exec sleep 60");
    ASSERT_TRUE(has_printed(holder)) << holder.err();
    const std::string token = holder.out().substr(0, holder.out().size() - 1);
    const std::string process = "process " + std::to_string(holder.pid());
    EXPECT_EQ(start({"break", lock_, "--why", "x", "--token", "1"}).wait(), 75);
    cli_process next = run({}, "echo mine; exec sleep 60");
    ASSERT_TRUE(one_waits());
    cli_process broken = start({"break", lock_, "--why", "it hangs", "--token", token});
    EXPECT_EQ(broken.wait(), 0) << broken.err();
    EXPECT_TRUE(has(broken.out(), "broken: " + lock_ + ", token " + token + ", run: sh, process "))
        << broken.out();
    EXPECT_TRUE(has(broken.out(), "held now by: token ")) << broken.out();
    EXPECT_TRUE(has(broken.out(), "process " + std::to_string(next.pid()))) << broken.out();
    EXPECT_EQ(holder.wait(), 76) << holder.err();  // it learned of the break, and ended its command
    EXPECT_TRUE(eventually([&] { return next.out() == "mine\n"; })) << next.err();
    cli_process show = start({"show", lock_, "--json"});
    ASSERT_EQ(show.wait(), 0) << show.err();
    const json::value report = json::parse(show.out());
    const json::value& record = report.at("breaks").at(0);
    EXPECT_EQ(record.at("token").as_string(), token);
    EXPECT_EQ(record.at("why").as_string(), "it hangs");
    EXPECT_TRUE(has(std::string(record.at("who").as_string()), "mortise break, user "));
    EXPECT_TRUE(has(std::string(record.at("holder").as_string()), process)) << record.at("holder");
}

TEST_P(CliAtStore, WatchWritesALineForEachChangeAndEndsWithASignal) {
    cli_process watch = start({"watch", "--json", lock_});
    const auto changes = [&](std::size_t count) {
        return eventually([&] { return changes_in(watch.out()).size() == count; });
    };
    cli_process holder = run({}, "echo mine; exec sleep 60");
    ASSERT_TRUE(changes(1)) << watch.err();
    cli_process waiter = run({}, "exec sleep 60");
    ASSERT_TRUE(changes(2)) << watch.out();
    holder.send(SIGTERM);
    EXPECT_EQ(holder.wait(), 128 + SIGTERM);
    ASSERT_TRUE(changes(4)) << watch.out();
    waiter.send(SIGTERM);
    EXPECT_EQ(waiter.wait(), 128 + SIGTERM);
    ASSERT_TRUE(changes(5)) << watch.out();
    const std::vector<std::string> expected{
        "acquired", "waits", "released", "acquired", "released"};
    EXPECT_EQ(changes_in(watch.out()), expected);
    watch.send(SIGTERM);
    EXPECT_EQ(watch.wait(2s), 128 + SIGTERM) << watch.err();
    EXPECT_EQ(watch.err(), "");
}

std::string sqlite_url(const std::filesystem::path& folder) {
    return "sqlite:" + (folder / "locks.db").native();
}

std::string redis_url(const std::filesystem::path&) {
    return "redis://" + shared_redis().address() +
           "/?assume_new=1&longest_ttl_ms=60000&prefix=cli:";
}

INSTANTIATE_TEST_SUITE_P(
    Of,
    CliAtStore,
    testing::Values(cli_place{"Sqlite", &sqlite_url}, cli_place{"Redis", &redis_url}),
    &name_of_place
);

}  // namespace
}  // namespace mortise::test::cli_store_test
