// SPDX-License-Identifier: BSL-1.0
// `mortise outbox relay --kafka` as a process, at a real broker.
#include "chaos/cli_process.hpp"
#include "support/built_program.hpp"
#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"
#include "unit/kafka/guarded_broker.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <boost/json/parse.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace mortise::test::cli_kafka_test {
namespace {

using outbox::message;
using texts = std::vector<std::string>;

class CliKafka : public outbox_world {
protected:
    cli_process start_outbox(texts arguments, cli_process::variables more = {}) const {
        arguments.insert(arguments.begin(), {built_program("tools/mortise"), "outbox"});
        more.insert(
            more.end(), {{"MORTISE_OUTBOX_DB", database().native()}, {"MORTISE_STORE", ""}}
        );
        return {folder_.path(), arguments, more};
    }
    cli_process
    start_relay(const kafka_broker& to, texts more, const cli_process::variables& set = {}) const {
        more.insert(
            more.begin(), {"relay", "--kafka", to.address(), "--progress-topic", progress_}
        );
        return start_outbox(std::move(more), set);
    }
    cli_process empty_to_broker() const { return start_relay(shared_kafka(), {"--until-empty"}); }
    void append(const std::string& payload) {
        outbox_world::append(message(topic_, "key", payload));
    }
    static std::string output_of(const cli_process& process) {
        return process.out() + process.err();
    }

    const std::string topic_ = fresh_name("topic");
    const std::string progress_ = fresh_name("progress");
};

TEST_F(CliKafka, SendsEachMessageOnceAndStandsUpToASignal) {
    shared_kafka().create_topic(topic_);
    append("1");
    append("2");
    auto first = empty_to_broker();
    ASSERT_EQ(first.wait(), 0) << output_of(first);
    EXPECT_NE(first.out().find("\n2 sent, 0 parked\n"), std::string::npos) << first.out();
    auto relay = start_relay(shared_kafka(), {"--json", "--setting", "linger.ms=0"});
    append("3");
    const kafka_reader reader(shared_kafka().address());
    EXPECT_TRUE(eventually([&] { return reader.values(topic_).size() == 3; })) << output_of(relay);
    relay.send(SIGTERM);
    EXPECT_EQ(relay.wait(), 128 + SIGTERM) << relay.err();
    EXPECT_EQ(
        boost::json::parse(relay.out().substr(0, relay.out().find('\n'))).at("event").as_string(),
        "taken"
    );
    EXPECT_EQ(reader.settled_values(topic_), (texts{"1", "2", "3"}));
}

TEST_F(CliKafka, AnOldCopyOfTheDatabaseIsRefusedUntilSomebodyDecides) {
    shared_kafka().create_topic(topic_);
    append("1");
    const auto copy = folder_.path() / "copy.db";
    run([&](db::connection& on) { on.run("CREATE TABLE IF NOT EXISTS shop(n)"); });
    {
        auto sending = empty_to_broker();
        ASSERT_EQ(sending.wait(), 0) << output_of(sending);
    }
    // Copies the closed database, as a backup does.
    session_->async_stop(asio::use_future).get();
    session_.reset();
    std::filesystem::copy_file(database(), copy);
    db::sqlite_config config;
    config.path = database();
    session_.emplace(site_.executor(), config);
    append("2");
    {
        auto sending = empty_to_broker();
        ASSERT_EQ(sending.wait(), 0) << output_of(sending);
    }
    session_->async_stop(asio::use_future).get();
    session_.reset();
    for (const char* const each : {"", "-wal", "-shm"})
        std::filesystem::remove(database().native() + each);
    std::filesystem::copy_file(copy, database());
    session_.emplace(site_.executor(), config);
    append("of another day");
    auto relay = empty_to_broker();
    EXPECT_EQ(relay.wait(), 69) << output_of(relay);
    EXPECT_NE(relay.out().find(" refused"), std::string::npos) << relay.out();
    const kafka_reader reader(shared_kafka().address());
    EXPECT_EQ(reader.settled_values(topic_), (texts{"1", "2"}));
    auto rebase = start_outbox({"rebase", "--all", "--after", "1"});
    ASSERT_EQ(rebase.wait(), 0) << output_of(rebase);
    auto again = empty_to_broker();
    EXPECT_EQ(again.wait(), 0) << output_of(again);
    EXPECT_EQ(reader.settled_values(topic_), (texts{"1", "2", "of another day"}));
}

TEST_F(CliKafka, SecretsComeFromAFileOrTheEnvironmentAndAreNeverShown) {
    kafka_broker& guarded = guarded_broker();
    guarded.create_topic(topic_);
    append("1");
    const auto file = folder_.path() / "kafka.conf";
    std::ofstream(file) << "# how alice logs in\n security.protocol = sasl_plaintext\n\n"
                           "sasl.mechanism=PLAIN\nsasl.username=alice\n";
    const texts by_variable{
        "--until-empty", "--setting-file", file, "--setting-env", "sasl.password=ALICE"};
    auto relay = start_relay(guarded, by_variable, {{"ALICE", alices_password}});
    EXPECT_EQ(relay.wait(), 0) << output_of(relay);
    const kafka_reader reader(guarded.address(), login("admin", "admin"));
    EXPECT_EQ(reader.settled_values(topic_), texts{"1"});
    // A wrong password is not shown either. The relay tries it again until a signal ends it.
    append("2");
    auto wrong = start_relay(guarded, by_variable, {{"ALICE", "alice-guesses"}});
    EXPECT_TRUE(eventually([&] { return wrong.out().find(" failed: ") != std::string::npos; }))
        << output_of(wrong);
    wrong.send(SIGTERM);
    EXPECT_EQ(wrong.wait(), 128 + SIGTERM);
    EXPECT_EQ(output_of(wrong).find("alice-guesses"), std::string::npos) << output_of(wrong);
    std::ofstream(file, std::ios::app) << "sasl.password=" << alices_password << '\n';
    auto by_file = start_relay(guarded, {"--until-empty", "--setting-file", file});
    EXPECT_EQ(by_file.wait(), 0) << output_of(by_file);
    EXPECT_EQ(reader.settled_values(topic_), (texts{"1", "2"}));
    EXPECT_EQ((output_of(relay) + output_of(by_file)).find(alices_password), std::string::npos);
}

TEST_F(CliKafka, ShowsTheLogOfLibrdkafkaToWhoAsksForIt) {
    shared_kafka().create_topic(topic_);
    append("1");
    auto quiet = empty_to_broker();
    ASSERT_EQ(quiet.wait(), 0) << output_of(quiet);
    EXPECT_EQ(quiet.err().find("librdkafka: "), std::string::npos) << quiet.err();
    append("2");
    auto loud = start_relay(shared_kafka(), {"--until-empty", "--setting", "debug=broker"});
    ASSERT_EQ(loud.wait(), 0) << output_of(loud);
    EXPECT_NE(loud.err().find("librdkafka: "), std::string::npos) << loud.err();
    EXPECT_NE(loud.err().find(shared_kafka().address()), std::string::npos) << loud.err();
}

TEST_F(CliKafka, WhatHasNoTopicIsParkedWithTheReasonAndSentWhenThereIsOne) {
    append("1");
    outbox_world::append(message("no topic has this name", "key", "2"));
    auto relay = empty_to_broker();
    ASSERT_EQ(relay.wait(), 0) << output_of(relay);
    EXPECT_NE(relay.out().find("\n0 sent, 2 parked\n"), std::string::npos) << relay.out();
    auto parked = start_outbox({"parked", "--json"});
    ASSERT_EQ(parked.wait(), 0) << output_of(parked);
    for (const std::string& each :
         {topic_, std::string("Unknown topic"), std::string("nvalid topic")})
        EXPECT_NE(parked.out().find(each), std::string::npos) << each << parked.out();

    shared_kafka().create_topic(topic_);
    auto again = empty_to_broker();
    ASSERT_EQ(again.wait(), 0) << output_of(again);
    EXPECT_NE(again.out().find("\n1 sent, 0 parked\n"), std::string::npos) << again.out();
    EXPECT_EQ(kafka_reader(shared_kafka().address()).settled_values(topic_), texts{"1"});
    // The topic of the other message has a name that Kafka never accepts.
    auto replay = start_outbox({"replay", "--all"});
    ASSERT_EQ(replay.wait(), 0) << output_of(replay);
    auto in_vain = empty_to_broker();
    ASSERT_EQ(in_vain.wait(), 0) << output_of(in_vain);
    EXPECT_NE(in_vain.out().find("\n0 sent, 1 parked\n"), std::string::npos) << in_vain.out();
}

TEST_F(CliKafka, MeasuresARelay) {
    cli_process bench(
        folder_.path(),
        {built_program("tools/mortise"),
         "bench",
         "relay",
         "--kafka",
         shared_kafka().address(),
         "--rows",
         "8000",
         "--seconds",
         "1",
         "--dir",
         folder_.path().native(),
         "--json"},
        {{"MORTISE_STORE", ""}}
    );
    ASSERT_EQ(bench.wait(), 0) << output_of(bench);
    const auto report = boost::json::parse(bench.out());
    const auto number = [&](const char* name) { return report.at(name).to_number<double>(); };
    for (const char* const each :
         {"rows_per_s", "raw_per_s", "ratio", "append_us", "inbox_per_s", "bare_ms"})
        EXPECT_GT(number(each), 0) << each;
    for (const char* const each : {"writes_per_row", "missing", "repeated"})
        EXPECT_EQ(number(each), 0) << each;
}

TEST_F(CliKafka, SaysWhatIsWrongWithASetting) {
    append("1");
    const auto file = folder_.path() / "kafka.conf";
    std::ofstream(file) << "linger.ms=0\nalice-forgot-the-name\n";
    struct wrong_words {
        texts words;
        std::string says;
    };
    const std::vector<wrong_words> cases{
        {{"--setting", "sasl.password=alice-tells-all"}, "sasl.password"},
        {{"--setting", "alice-tells-all"}, "NAME=VALUE"},
        {{"--setting", "acks=1"}, "acks"},
        {{"--setting", "poem.max=1"}, "poem.max"},
        {{"--setting", "linger.ms=0", "--setting", "linger.ms=1"}, "twice"},
        {{"--setting-env", "sasl.password=NOBODY_HAS_SET_THIS"}, "NOBODY_HAS_SET_THIS"},
        {{"--setting-file", file}, "kafka.conf:2"},
        {{"--setting-file", "/nowhere/at/all"}, "/nowhere/at/all"}};
    for (const auto& [words, says] : cases) {
        texts all{"relay", "--kafka", "127.0.0.1:9"};
        all.insert(all.end(), words.begin(), words.end());
        auto relay = start_outbox(all);
        EXPECT_EQ(relay.wait(), 64) << testing::PrintToString(words);
        EXPECT_NE(relay.err().find(says), std::string::npos) << relay.err();
        EXPECT_EQ(output_of(relay).find("alice"), std::string::npos) << relay.err();
    }
}

}  // namespace
}  // namespace mortise::test::cli_kafka_test
