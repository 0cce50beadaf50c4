// SPDX-License-Identifier: BSL-1.0
// The command `mortise` as a process: help, version, errors, lists, measurements.

#include "chaos/cli_fixture.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <set>

namespace mortise::test {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

std::set<std::string> keys_of(const json::value& value) {
    std::set<std::string> keys;
    for (const auto& member : value.as_object())
        keys.emplace(member.key());
    return keys;
}

TEST_F(Cli, HelpShowsExamplesForEveryCommand) {
    const std::vector<std::vector<std::string>> commands{
        {},
        {"run"},
        {"ls"},
        {"show"},
        {"break"},
        {"watch"},
        {"doctor"},
        {"outbox"},
        {"inbox"},
        {"bench"},
        {"bench", "handoff"},
        {"bench", "contend"},
        {"bench", "txn"}};
    for (std::vector<std::string> command : commands) {
        command.emplace_back("--help");
        cli_process help = start(command);
        EXPECT_EQ(help.wait(), 0);
        EXPECT_NE(help.out().find("Examples:\n  mortise "), std::string::npos) << help.out();
        EXPECT_EQ(help.err(), "");
    }
}

TEST_F(Cli, VersionSaysWhatItIs) {
    cli_process plain = start({"--version"});
    EXPECT_EQ(plain.wait(), 0);
    EXPECT_TRUE(plain.out().starts_with("mortise 0.")) << plain.out();
    cli_process for_programs = start({"--version", "--json"});
    EXPECT_EQ(for_programs.wait(), 0);
    EXPECT_TRUE(json::parse(for_programs.out()).at("version").is_string());
}

struct mistake {
    std::vector<std::string> arguments;
    int exit_code;
    std::vector<std::string> words;  ///< What the error must contain: the value, and what to do.
};

std::vector<mistake> mistakes() {
    const std::string long_name(1'025, 'x');
    return {
        {{"run", "--lock", "a", "--wait", "10x", "--", "true"}, 64, {"--wait", "'10x'", "500ms"}},
        {{"run", "--lock", "a", "--wait=-5s", "--", "true"}, 64, {"'-5s'", "zero or more"}},
        {{"run", "--lock", "a", "--grace", "9999999999h", "--", "true"}, 64, {"--grace", "100"}},
        {{"run", "--lock", "a"}, 64, {"no command", "`--`"}},
        {{"run", "--", "true"}, 64, {"--lock", "required", "--help"}},
        {{"run", "--lock", "", "--", "true"}, 64, {"name", "1 to 1,024"}},
        {{"run", "--lock", long_name, "--", "true"}, 64, {"1025", "1 to 1,024"}},
        {{"run", "--lock", "a", "--ttl", "1ms", "--", "true"}, 64, {"TTL", "1 ms"}},
        {{"--store", "nosuch:x", "ls"}, 64, {"scheme", "nosuch", "sqlite"}},
        {{"--store", "sqlite:", "ls"}, 64, {"URL"}},
        {{"--store", "memory:", "bench", "handoff"}, 64, {"memory:", "one process"}},
        {{"frobnicate"}, 64, {"frobnicate", "--help"}},
        {{"--store", "memory:", "bench", "txn"}, 64, {"memory:", "SQLite"}},
        {{"bench", "txn", "--in-flight", "0"}, 64, {"--in-flight", "--help"}},
        {{"bench"}, 64, {"subcommand", "--help"}},
        {{"ls", "--", "x"}, 64, {"`--`"}},
        {{"show"}, 64, {"--lock", "required"}},
        {{"show", ""}, 64, {"name", "1 to 1,024"}},
        {{"break", "a"}, 64, {"--why", "required"}},
        {{"break", "a", "--why", ""}, 64, {"reason", "recorded"}},
        {{"break", "a", "--why", "x", "--token", "-1"}, 64, {"'-1'", "mortise show"}},
        {{"break", "a", "--why", "x"}, 66, {"nobody holds", "a"}},
        {{"run", "--lock", "a", "--permits", "0", "--", "true"}, 64, {"--permits", "65535"}},
        {{"run", "--lock", "a", "--shared", "--permits", "2", "--", "true"}, 64, {"--permits"}},
        {{"run", "--lock", "a", "--hold-max", "x", "--", "true"}, 64, {"--hold-max", "500ms"}},
    };
}

TEST_F(Cli, MistakesAreToldInOneLineWithTheRemedy) {
    for (const mistake& wrong : mistakes()) {
        cli_process run = start(wrong.arguments);
        EXPECT_EQ(run.wait(), wrong.exit_code) << run.err();
        const std::string message = run.err();
        EXPECT_TRUE(message.starts_with("mortise: ")) << message;
        EXPECT_EQ(message.find('\n'), message.size() - 1) << message;
        for (const std::string& word : wrong.words)
            EXPECT_NE(message.find(word), std::string::npos) << word << " is not in: " << message;
        EXPECT_EQ(run.out(), "");
    }
}

TEST_F(Cli, MistakesAreObjectsForPrograms) {
    for (mistake wrong : mistakes()) {
        wrong.arguments.insert(wrong.arguments.begin(), "--json");
        cli_process run = start(wrong.arguments);
        EXPECT_EQ(run.wait(), wrong.exit_code);
        const json::value report = json::parse(run.err());
        EXPECT_EQ(
            keys_of(report.at("error")),
            (std::set<std::string>{"exit_code", "message", "remedy", "value"})
        );
        EXPECT_EQ(report.at("error").at("exit_code").as_int64(), wrong.exit_code);
    }
}

TEST_F(Cli, AStoreThatCannotBeUsedIs69) {
    std::ofstream(file("poem.txt")) << std::string(5'000, 'r') << "oses are red";
    cli_process poem = start({"--store", "sqlite:" + file("poem.txt").native(), "ls"});
    EXPECT_EQ(poem.wait(), 69);
    EXPECT_NE(poem.err().find("not an SQLite database"), std::string::npos) << poem.err();
    const std::string nowhere = "sqlite:" + file("no/such/folder/locks.db").native();
    cli_process absent = start({"--store", nowhere, "run", "--lock", "a", "--", "true"});
    EXPECT_EQ(absent.wait(), 69);
    EXPECT_NE(absent.err().find("no/such/folder"), std::string::npos) << absent.err();
}

TEST_F(Cli, TheDefaultStoreIsForItsOwnerOnly) {
    environment_ = {{"MORTISE_STORE", ""}, {"XDG_STATE_HOME", file("state").native()}};
    EXPECT_EQ(start({"run", "--lock", "a", "--", "true"}).wait(), 0);
    struct stat about {};
    ASSERT_EQ(::stat(file("state/mortise").c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777u, 0700u);
    EXPECT_TRUE(std::filesystem::exists(file("state/mortise/locks.db")));
    environment_ = {{"MORTISE_STORE", ""}, {"XDG_STATE_HOME", ""}, {"HOME", folder_.native()}};
    EXPECT_EQ(start({"run", "--lock", "a", "--", "true"}).wait(), 0);
    EXPECT_TRUE(std::filesystem::exists(file(".local/state/mortise/locks.db")));
}

TEST_F(Cli, LsShowsHoldersAndWaiters) {
    cli_process nothing = start({"ls"});
    EXPECT_EQ(nothing.wait(), 0) << nothing.err();
    EXPECT_EQ(nothing.out(), "No lock is held.\n");

    cli_process holder = start_script({"--lock", "nightly"}, "echo $MORTISE_TOKEN; sleep 60");
    ASSERT_TRUE(eventually([&] { return holder.out().ends_with("\n"); })) << holder.err();
    cli_process waiter = start_script({"--lock", "nightly"}, "true");
    ASSERT_TRUE(eventually([&] { return waiters_of("nightly") == 1; }));

    const json::value all = listed();
    ASSERT_EQ(all.at("locks").as_array().size(), 1u);
    const json::value& lock = all.at("locks").at(0);
    EXPECT_EQ(lock.at("holders").at(0).at("pid").as_int64(), holder.pid());
    const std::string token(lock.at("holders").at(0).at("token").as_string());
    EXPECT_EQ(token + "\n", holder.out());
    EXPECT_EQ(lock.at("holders").at(0).at("label").as_string(), "run: sh");
    EXPECT_EQ(lock.at("waiters").at(0).at("pid").as_int64(), waiter.pid());

    cli_process brief = start({"ls"});
    EXPECT_EQ(brief.wait(), 0);
    EXPECT_NE(brief.out().find("nightly"), std::string::npos) << brief.out();
    EXPECT_EQ(brief.out().find("waits"), std::string::npos) << brief.out();
    cli_process full = start({"ls", "--all"});
    EXPECT_EQ(full.wait(), 0);
    EXPECT_NE(full.out().find("waits"), std::string::npos) << full.out();
    EXPECT_NE(full.out().find(std::to_string(waiter.pid())), std::string::npos) << full.out();
}

TEST_F(Cli, NamesThatAreNotTextAreShownSafely) {
    const std::string name = "a\n\xff\x1b[31m\\";
    cli_process holder = start_script({"--lock", name}, "echo mine; sleep 60");
    ASSERT_TRUE(eventually([&] { return holder.out() == "mine\n"; })) << holder.err();
    cli_process table = start({"ls"});
    EXPECT_EQ(table.wait(), 0);
    EXPECT_NE(table.out().find("a\\x0a\\xff\\x1b[31m\\\\  held"), std::string::npos) << table.out();
    const json::value all = listed();
    EXPECT_EQ(all.at("locks").at(0).at("name_hex").as_string(), "610aff1b5b33316d5c");
}

TEST_F(Cli, BenchContendFindsNoOverlapAndNoFallingToken) {
    cli_process bench = start(
        {"bench",
         "contend",
         "--processes",
         "3",
         "--tasks",
         "3",
         "--hold",
         "1ms",
         "--think",
         "5ms",
         "--acquisitions",
         "100",
         "--json"}
    );
    ASSERT_EQ(bench.wait(100s), 0) << bench.err();
    const json::value found = json::parse(bench.out());
    EXPECT_EQ(
        keys_of(found),
        (std::set<std::string>{
            "gap_us", "locks_per_s", "overlaps", "same_worker", "token_regressions", "wait_ms"})
    );
    EXPECT_EQ(keys_of(found.at("gap_us")), (std::set<std::string>{"p50", "p99"}));
    EXPECT_EQ(keys_of(found.at("wait_ms")), (std::set<std::string>{"max", "p50", "p99"}));
    EXPECT_EQ(found.at("overlaps").as_int64(), 0);
    EXPECT_EQ(found.at("token_regressions").as_int64(), 0);
    EXPECT_GT(found.at("locks_per_s").as_double(), 0);
}

TEST_F(Cli, BenchMeasuresAgainstTheLimitOfTheMachine) {
    cli_process handoff = start({"bench", "handoff", "--seconds", "1", "--json"});
    ASSERT_EQ(handoff.wait(40s), 0) << handoff.err();
    const json::value passed = json::parse(handoff.out());
    EXPECT_EQ(keys_of(passed), (std::set<std::string>{"handoffs_per_s", "limit_per_s", "ratio"}));
    EXPECT_GT(passed.at("handoffs_per_s").as_double(), 0);
    EXPECT_GT(passed.at("ratio").as_double(), 0);
    cli_process uncontended = start({"bench", "uncontended", "--seconds", "1", "--json"});
    ASSERT_EQ(uncontended.wait(40s), 0) << uncontended.err();
    const json::value cycled = json::parse(uncontended.out());
    EXPECT_EQ(keys_of(cycled), (std::set<std::string>{"cycles_per_s", "limit_per_s", "ratio"}));
    EXPECT_GT(cycled.at("ratio").as_double(), 0);
}

TEST_F(Cli, BenchTxnMeasuresBatchesAgainstTheDisk) {
    cli_process bench = start({"bench", "txn", "--in-flight", "16", "--seconds", "1", "--json"});
    ASSERT_EQ(bench.wait(100s), 0) << bench.err();
    const json::value found = json::parse(bench.out());
    EXPECT_EQ(
        keys_of(found),
        (std::set<std::string>{"batch_mean", "fsync_us", "ratio", "tx_per_s", "tx_per_s_single"})
    );
    for (const auto& figure : found.as_object())
        EXPECT_GT(figure.value().as_double(), 0) << figure.key();
    EXPECT_GT(found.at("batch_mean").as_double(), 1);
}

}  // namespace
}  // namespace mortise::test
