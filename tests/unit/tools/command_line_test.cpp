// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/time_text.hpp"
#include "lock/live_screen.hpp"
#include "lock/read_locks.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <variant>

namespace mortise::tool {
namespace {

using namespace std::chrono_literals;
using word_list = std::vector<std::string>;

/// Parses a command line that wants a `T`.
template <class T>
T wanted(const word_list& arguments) {
    return std::get<T>(parse_command_line(arguments).wanted);
}

int refused(const word_list& arguments) {
    try {
        parse_command_line(arguments);
    } catch (const failure& how) {
        return how.exit_code();
    }
    return 0;
}

TEST(CommandLine, KnowsTheModesOfRun) {
    const word_list run{"run", "--lock", "a"};
    const auto with = [&](word_list more) {
        more.insert(more.begin(), run.begin(), run.end());
        more.insert(more.end(), {"--", "true"});
        return more;
    };
    EXPECT_EQ(wanted<run_settings>(with({})).mode, lock_mode::exclusive());
    EXPECT_EQ(wanted<run_settings>(with({})).hold_max, std::chrono::milliseconds::max());
    EXPECT_EQ(wanted<run_settings>(with({"--shared"})).mode, lock_mode::shared());
    EXPECT_EQ(wanted<run_settings>(with({"--permits", "4"})).mode, lock_mode::permits(4));
    EXPECT_EQ(wanted<run_settings>(with({"--hold-max", "90s"})).hold_max, 90s);
    for (const char* count : {"0", "65536", "-1", "x", ""})
        EXPECT_EQ(refused(with({"--permits", count})), exit_code::usage) << count;
    EXPECT_EQ(refused(with({"--shared", "--permits", "2"})), exit_code::usage);
    EXPECT_EQ(refused(with({"--hold-max", "soon"})), exit_code::usage);
}

TEST(CommandLine, TakesTheNameOfALockInTwoWays) {
    EXPECT_EQ(wanted<show_settings>({"show", "nightly"}).lock, "nightly");
    EXPECT_EQ(wanted<show_settings>({"show", "--lock=-x"}).lock, "-x");
    EXPECT_EQ(refused({"show"}), exit_code::usage);
    EXPECT_EQ(refused({"show", "a", "b"}), exit_code::usage);
}

TEST(CommandLine, WantsAReasonForABreak) {
    const auto settings = wanted<break_settings>(
        {"break", "a", "--why", "gone", "--token", "18446744073709551615", "--slot", "7"}
    );
    EXPECT_EQ(settings.lock, "a");
    EXPECT_EQ(settings.why, "gone");
    EXPECT_EQ(settings.token, 18'446'744'073'709'551'615u);
    EXPECT_EQ(settings.slot, 7u);
    EXPECT_FALSE(wanted<break_settings>({"break", "a", "--why", "gone"}).token);
    for (const word_list& wrong :
         {word_list{"break", "a"},
          word_list{"break", "a", "--why", ""},
          word_list{"break", "a", "--why", " \n"},
          word_list{"break", "--why", "gone"},
          word_list{"break", "a", "--why", "gone", "--token", "-1"},
          word_list{"break", "a", "--why", "gone", "--slot", "x"}})
        EXPECT_EQ(refused(wrong), exit_code::usage);
}

TEST(CommandLine, KnowsWatchAndDoctor) {
    EXPECT_EQ(wanted<watch_settings>({"watch"}).prefix, "");
    EXPECT_EQ(wanted<watch_settings>({"watch", "app/"}).prefix, "app/");
    EXPECT_FALSE(wanted<doctor_settings>({"doctor"}).create);
    EXPECT_TRUE(wanted<doctor_settings>({"doctor", "--create"}).create);
    EXPECT_TRUE(parse_command_line({"watch", "--json"}).global.json);
}

TEST(CommandLine, KnowsTheMeasurementOfTransactions) {
    const auto usual = wanted<bench_settings>({"bench", "tcc"});
    EXPECT_EQ(usual.measurement, bench_settings::kind::tcc);
    EXPECT_EQ(usual.transactions, 0u);
    EXPECT_EQ(usual.recovery, 0u);
    EXPECT_EQ(usual.handover, 0u);
    EXPECT_EQ(usual.backlog, 0u);
    EXPECT_EQ(usual.folder, ".");
    const auto more = wanted<bench_settings>(
        {"bench",
         "tcc",
         "--transactions",
         "9",
         "--in-flight",
         "2",
         "--dir",
         "/d",
         "--recovery",
         "4",
         "--handover",
         "5",
         "--backlog",
         "6"}
    );
    EXPECT_EQ(more.transactions, 9u);
    EXPECT_EQ(more.in_flight, 2u);
    EXPECT_EQ(more.folder, "/d");
    EXPECT_EQ(more.recovery, 4u);
    EXPECT_EQ(more.handover, 5u);
    EXPECT_EQ(more.backlog, 6u);
    EXPECT_EQ(refused({"bench", "tcc", "--recovery", "1"}), exit_code::usage);
    EXPECT_EQ(refused({"bench", "tcc", "--handover", "0"}), exit_code::usage);
    EXPECT_EQ(refused({"bench", "tcc", "--backlog", "0"}), exit_code::usage);
}

TEST(CommandLine, KnowsWhatCanBeDoneAboutTransactions) {
    using kind = txn_settings::kind;
    const auto ls = wanted<txn_settings>({"txn", "ls", "--log", "tcc.db"});
    EXPECT_EQ(ls.verb, kind::ls);
    EXPECT_EQ(ls.log, "tcc.db");
    EXPECT_EQ(ls.filter, txn::list_filter::unfinished);
    const auto stuck = wanted<txn_settings>({"txn", "--log", "tcc.db", "ls", "--stuck"});
    EXPECT_EQ(stuck.filter, txn::list_filter::stuck);
    EXPECT_EQ(wanted<txn_settings>({"txn", "show", "7", "--log", "x"}).verb, kind::show);
    const auto skip = wanted<txn_settings>(
        {"txn", "skip", "7", "--branch", "2", "--why", "paid", "--wait", "1s", "--log", "x"}
    );
    EXPECT_EQ(skip.verb, kind::skip);
    EXPECT_EQ(skip.transaction, "7");
    EXPECT_EQ(skip.branch, 2u);
    EXPECT_EQ(skip.why, "paid");
    EXPECT_EQ(skip.wait, 1s);
    EXPECT_EQ(wanted<txn_settings>({"txn", "force", "7", "--why", "y", "--log", "x"}).branch, 0u);
    for (const word_list& wrong :
         {word_list{"txn", "--log", "x"},
          word_list{"txn", "ls"},
          word_list{"txn", "ls", "--log", "x", "--all", "--stuck"},
          word_list{"txn", "show", "--log", "x"},
          word_list{"txn", "retry", "7", "--log", "x"},
          word_list{"txn", "retry", "7", "--log", "x", "--why", " "},
          word_list{"txn", "skip", "7", "--log", "x", "--why", "y"},
          word_list{"txn", "force", "7", "--log", "x", "--why", "y", "--branch", "0"}})
        EXPECT_EQ(refused(wrong), exit_code::usage);
}

TEST(NameBefore, IsTheLargestNameBelowAllThatBeginSo) {
    EXPECT_EQ(name_before(""), "");
    EXPECT_EQ(name_before(std::string("a\0", 2)), "a");
    EXPECT_EQ(name_before(std::string(1, '\0')), "");
    for (const std::string prefix : {"a", "ab", "\x01", "\xff", "a\x80"}) {
        const std::string before = name_before(prefix);
        EXPECT_LT(before, prefix);
        EXPECT_EQ(before.size(), 1'024u);
        EXPECT_EQ(before.substr(0, prefix.size() - 1), prefix.substr(0, prefix.size() - 1));
    }
}

TEST(TimeText, IsIsoInUtcWithMilliseconds) {
    using std::chrono::system_clock;
    const system_clock::time_point epoch{};
    EXPECT_EQ(time_text(epoch), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(time_text(epoch + 1'000'000'007s + 45ms), "2001-09-09T01:46:47.045Z");
    EXPECT_EQ(time_text(epoch - 1ms), "1969-12-31T23:59:59.999Z");
    EXPECT_EQ(time_text(system_clock::time_point::min()), "1677-09-21T00:12:43.145Z");
    EXPECT_EQ(time_text(system_clock::time_point::max()), "2262-04-11T23:47:16.854Z");
}

TEST(LiveScreen, CutsLinesAtTheRightEdgeByCharacters) {
    EXPECT_EQ(
        frame_of("Grüße!\nab\n", {.rows = 4, .columns = 5}), "\x1b[HGrüß\x1b[K\r\nab\x1b[K\x1b[J"
    );
}

TEST(LiveScreen, SaysHowManyLinesAreLeftOut) {
    EXPECT_EQ(
        frame_of("1\n2\n3\n4\n", {.rows = 3, .columns = 40}),
        "\x1b[H1\x1b[K\r\n2\x1b[K\r\n... and 2 more lines\x1b[K\x1b[J"
    );
    EXPECT_EQ(frame_of("1\n2\n", {.rows = 2, .columns = 9}), "\x1b[H1\x1b[K\r\n2\x1b[K\x1b[J");
}

}  // namespace
}  // namespace mortise::tool
