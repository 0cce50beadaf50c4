// SPDX-License-Identifier: BSL-1.0
// `mortise outbox` and `mortise inbox` as processes, beside the process that appends.
#include "chaos/cli_process.hpp"
#include "mortise/outbox/file_sink.hpp"
#include "support/built_program.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <boost/json/parse.hpp>

#include <csignal>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::test::cli_outbox_test {
namespace {

using namespace std::chrono_literals;
using outbox::message;
using outbox::row_kind;
using texts = std::vector<std::string>;

class CliOutbox : public outbox_world {
protected:
    cli_process start_outbox(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {built_program("tools/mortise"), "outbox"});
        return {
            folder_.path(),
            arguments,
            {{"MORTISE_OUTBOX_DB", database().native()}, {"MORTISE_STORE", ""}}};
    }
    cli_process start_relay(std::vector<std::string> more) const {
        more.insert(more.begin(), {"relay", "--to", files().native()});
        return start_outbox(std::move(more));
    }
    std::filesystem::path files() const { return folder_.path() / "messages"; }

    boost::json::value listed() const {
        auto ls = start_outbox({"ls", "--json"});
        EXPECT_EQ(ls.wait(), 0) << ls.err();
        return boost::json::parse(ls.out());
    }
    int waiting() const { return listed().at("waiting").to_number<int>(); }
    /// The messages of one key in the files.
    texts in_files(const std::string& key) const {
        std::map<std::int64_t, std::string> found;
        if (!std::filesystem::exists(files()))
            return {};
        for (const auto& each : std::filesystem::directory_iterator(files())) {
            for (const auto& one : outbox::read_message_file(each.path())) {
                if (one.message.key == key)
                    found.emplace(one.row, one.message.payload.value_or("(none)"));
            }
        }
        texts payloads;
        for (const auto& [row, payload] : found)
            payloads.push_back(payload);
        return payloads;
    }
    void append_one_that_cannot_be_read(const std::string& key, const std::string& payload) {
        message event("events", key, payload);
        event.headers.emplace_back("a", "b");
        append(event);
        run([](db::connection& on) {
            on.run("UPDATE mortise_outbox SET headers = x'0102' WHERE headers IS NOT NULL");
        });
    }
};

TEST_F(CliOutbox, SendsToFilesAndMendsWhatIsParked) {
    append("k", "1");
    append_one_that_cannot_be_read("k", "2");
    append("k", "3");
    append("other", "4");
    EXPECT_EQ(waiting(), 4);
    auto relay = start_relay({"--until-empty"});
    ASSERT_EQ(relay.wait(), 0) << relay.err();
    EXPECT_NE(relay.out().find(" parked row 2: "), std::string::npos) << relay.out();
    EXPECT_NE(relay.out().find("\n2 sent, "), std::string::npos) << relay.out();
    EXPECT_EQ(in_files("k"), texts{"1"});
    EXPECT_EQ(in_files("other"), texts{"4"});

    auto parked = start_outbox({"parked", "--json"});
    ASSERT_EQ(parked.wait(), 0) << parked.err();
    const auto report = boost::json::parse(parked.out());
    ASSERT_EQ(report.at("parked").as_array().size(), 1u);
    EXPECT_EQ(report.at("parked").at(0).at("row").to_number<int>(), 2);
    EXPECT_EQ(report.at("parked").at(0).at("behind").to_number<int>(), 1);
    EXPECT_FALSE(report.at("parked").at(0).at("readable").as_bool());
    auto show = start_outbox({"show", "2"});
    EXPECT_EQ(show.wait(), 0);
    EXPECT_NE(show.out().find("cannot be read"), std::string::npos) << show.out();

    run([](db::connection& on) {
        on.run("UPDATE mortise_outbox_parked SET headers = NULL WHERE id = 2");
    });
    auto replay = start_outbox({"replay", "2"});
    ASSERT_EQ(replay.wait(), 0) << replay.err();
    EXPECT_EQ(replay.out(), "replay row 2: 2 messages are to be sent\n");
    auto more = start_relay({"--until-empty", "--json"});
    ASSERT_EQ(more.wait(), 0) << more.err();
    EXPECT_EQ(in_files("k"), (texts{"1", "2", "3"}));
    std::istringstream lines(more.out());
    std::string last;
    for (std::string line; std::getline(lines, line);) {
        last = line;
        EXPECT_TRUE(boost::json::parse(line).at("event").is_string()) << line;
    }
    EXPECT_EQ(boost::json::parse(last).at("event").as_string(), "empty");
    EXPECT_EQ(boost::json::parse(last).at("messages").to_number<int>(), 2);
    auto again = start_outbox({"replay", "--all"});
    EXPECT_EQ(again.wait(), 66) << again.out();
}

TEST_F(CliOutbox, ARelayHearsOfWhatComesAndEndsByASignal) {
    append("k", "1");
    auto relay = start_relay({"--store", "sqlite:" + (folder_.path() / "locks.db").native()});
    EXPECT_TRUE(eventually([&] { return in_files("k").size() == 1; })) << relay.err();
    append("k", "2");
    EXPECT_TRUE(eventually([&] { return in_files("k").size() == 2; })) << relay.err();
    // While the first relay holds the locks, the next one stands by.
    append("k", "3");
    auto next =
        start_relay({"--until-empty", "--store", "sqlite:" + (folder_.path() / "locks.db").native()}
        );
    EXPECT_TRUE(eventually([&] { return in_files("k").size() == 3; }));
    relay.send(SIGTERM);
    EXPECT_EQ(relay.wait(), 128 + SIGTERM) << relay.err();
    EXPECT_NE(relay.out().find(" left"), std::string::npos) << relay.out();
    EXPECT_EQ(next.wait(), 0) << next.err();
    EXPECT_EQ(in_files("k"), (texts{"1", "2", "3"}));
    EXPECT_EQ(relay.err() + next.err(), "");
}

TEST_F(CliOutbox, ASignalEndsARelayThatCannotSend) {
    append("k", "1");
    std::ofstream(files()) << "this is no folder";
    auto relay = start_relay({"--until-empty"});
    EXPECT_TRUE(eventually([&] { return relay.out().find(" failed: ") != std::string::npos; }));
    relay.send(SIGINT);
    EXPECT_EQ(relay.wait(), 128 + SIGINT) << relay.err();
    EXPECT_EQ(waiting(), 1);
}

TEST_F(CliOutbox, ARelaySaysThatAShardIsRefused) {
    append("k", "1");
    auto first = start_relay({"--until-empty"});
    ASSERT_EQ(first.wait(), 0) << first.err();
    // Pretends that the files belong to another table.
    run([](db::connection& on) {
        on.run("UPDATE mortise_outbox_about SET value = 'another' WHERE name = 'id'");
    });
    append("k", "2");
    auto relay = start_relay({"--until-empty"});
    EXPECT_EQ(relay.wait(), 69) << relay.out();
    EXPECT_NE(relay.out().find("shard 0 refused, at row 1: "), std::string::npos) << relay.out();
    auto rebase = start_outbox({"rebase", "--all", "--beginning"});
    EXPECT_EQ(rebase.wait(), 0) << rebase.err();
    EXPECT_NE(rebase.out().find("goes on after row 0"), std::string::npos) << rebase.out();
}

TEST_F(CliOutbox, WhatIsNotThereIsNotMade) {
    for (const texts& arguments :
         {texts{"ls"}, texts{"relay", "--to", files().native()}, texts{"reshard", "4"}}) {
        auto asked = start_outbox(arguments);
        EXPECT_EQ(asked.wait(), 69) << asked.out();
        EXPECT_NE(asked.err().find("no message table"), std::string::npos) << asked.err();
    }
    EXPECT_FALSE(std::filesystem::exists(files()));
    auto inbox = cli_process(
        folder_.path(),
        {built_program("tools/mortise"), "inbox", "ls", "--db", database().native()},
        {}
    );
    EXPECT_EQ(inbox.wait(), 69) << inbox.out();
    EXPECT_NE(inbox.err().find("no inbox"), std::string::npos) << inbox.err();
    auto unnamed =
        cli_process(folder_.path(), {built_program("tools/mortise"), "outbox", "ls"}, {});
    EXPECT_EQ(unnamed.wait(), 64);
    auto absent = cli_process(
        folder_.path(),
        {built_program("tools/mortise"), "outbox", "ls", "--db", "/nowhere/at/all.db"},
        {}
    );
    EXPECT_EQ(absent.wait(), 69);
    EXPECT_NE(absent.err().find("/nowhere/at/all.db"), std::string::npos) << absent.err();
}

}  // namespace
}  // namespace mortise::test::cli_outbox_test
