// SPDX-License-Identifier: BSL-1.0
// `mortise show`, `break`, `watch` and `doctor` as processes.

#include "chaos/cli_fixture.hpp"
#include "support/built_program.hpp"

#include <boost/json/parse.hpp>

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <string>

namespace mortise::test {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_F(Cli, ShowShowsOneLockInFull) {
    cli_process free = start({"show", "a"});
    EXPECT_EQ(free.wait(), 0) << free.err();
    EXPECT_EQ(free.out(), "a: nobody holds it, nobody waits\n");
    cli_process holder = start_script(
        {"--lock", "a", "--hold-max", "1h"}, "echo $MORTISE_TOKEN $MORTISE_TOKEN_DOMAIN; sleep 60"
    );
    ASSERT_TRUE(eventually([&] { return holder.out().ends_with("\n"); })) << holder.err();
    cli_process waiter = start_script({"--lock", "a"}, "true");
    ASSERT_TRUE(eventually([&] { return waiters_of("a") == 1; }));
    cli_process show = start({"show", "a", "--json"});
    ASSERT_EQ(show.wait(), 0) << show.err();
    const json::value report = json::parse(show.out());
    const json::value& held = report.at("holders").at(0);
    const std::string token(held.at("token").as_string());
    EXPECT_EQ(token + ' ' + std::string(held.at("token_domain").as_string()) + '\n', holder.out());
    EXPECT_EQ(held.at("pid").as_int64(), holder.pid());
    EXPECT_EQ(held.at("hold_max_ms").as_int64(), 3'600'000);
    EXPECT_EQ(report.at("waiters").at(0).at("pid").as_int64(), waiter.pid());
    cli_process table = start({"show", "a"});
    EXPECT_EQ(table.wait(), 0);
    EXPECT_TRUE(has(table.out(), "a: exclusive, held, 1 waits\n")) << table.out();
    EXPECT_TRUE(has(table.out(), token)) << table.out();
}

TEST_F(Cli, WatchGivesTheTerminalBack) {
    cli_process holder = start_script({"--lock", "ready"}, "echo mine; exec sleep 60");
    ASSERT_TRUE(eventually([&] { return holder.out() == "mine\n"; })) << holder.err();
    int status = 0;
    const std::string store = environment_.front().second;
    const std::string seen = typed_at(
        {"/usr/bin/env",
         "TERM=xterm",
         built_program("tools/mortise"),
         "--store",
         store,
         "watch",
         "re"},
        status
    );
    EXPECT_TRUE(seen.starts_with("\x1b[?1049h\x1b[?25l\x1b[Hmortise watch, sqlite:")) << seen;
    EXPECT_TRUE(seen.ends_with("\x1b[?25h\x1b[?1049l")) << seen;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT) << status;
}

TEST_F(Cli, DoctorMakesNoStoreUnlessItIsTold) {
    cli_process nothing = start({"doctor"});
    EXPECT_EQ(nothing.wait(), 69);
    EXPECT_TRUE(has(nothing.err(), "none was made")) << nothing.err();
    EXPECT_TRUE(has(nothing.err(), "--create")) << nothing.err();
    EXPECT_FALSE(std::filesystem::exists(file("locks.db")));
    const auto before = environment_;
    environment_ = {{"MORTISE_STORE", ""}, {"XDG_STATE_HOME", file("state").native()}};
    EXPECT_EQ(start({"doctor"}).wait(), 69);
    EXPECT_FALSE(std::filesystem::exists(file("state")));
    environment_ = before;
    cli_process doctor = start({"doctor", "--create", "--json"});
    EXPECT_EQ(doctor.wait(), 0) << doctor.out() << doctor.err();
    EXPECT_TRUE(std::filesystem::exists(file("locks.db")));
}

TEST_F(Cli, DoctorMeasuresAndGivesAVerdict) {
    ASSERT_EQ(start({"run", "--lock", "a", "--", "true"}).wait(), 0);
    cli_process doctor = start({"doctor", "--json"});
    ASSERT_EQ(doctor.wait(), 0) << doctor.out() << doctor.err();
    const json::value found = json::parse(doctor.out());
    EXPECT_NE(found.at("verdict").as_string(), "broken");
    for (const char* key : {"cycle_us_p50", "handover_us_p50", "heartbeat_us_max"})
        EXPECT_GT(found.at("measured").at(key).as_double(), 0) << key;
    EXPECT_TRUE(listed().at("locks").as_array().empty());
    cli_process table = start({"doctor"});
    ASSERT_EQ(table.wait(), 0) << table.err();
    EXPECT_TRUE(has(table.out(), "\nVerdict: ")) << table.out();
}

TEST_F(Cli, DoctorCallsWhatIsNoStoreBroken) {
    std::ofstream(file("poem.txt")) << std::string(5'000, 'r') << "oses are red";
    cli_process doctor = start({"--store", "sqlite:" + file("poem.txt").native(), "doctor"});
    EXPECT_EQ(doctor.wait(), 1) << doctor.err();
    EXPECT_TRUE(has(doctor.out(), "BROKEN")) << doctor.out();
    EXPECT_TRUE(has(doctor.out(), "not an SQLite database")) << doctor.out();
}

TEST_F(Cli, ADoctorThatIsInterruptedLeavesNothing) {
    cli_process doctor = start({"doctor", "--create"});
    // The doctor opens the store at present. Its heartbeats alone take half a second more.
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("locks.db")); }));
    doctor.send(SIGTERM);
    EXPECT_EQ(doctor.wait(5s), 128 + SIGTERM) << doctor.err();
    EXPECT_TRUE(listed().at("locks").as_array().empty());
    EXPECT_EQ(doctor.out(), "");
}

}  // namespace
}  // namespace mortise::test
