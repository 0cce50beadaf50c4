// SPDX-License-Identifier: BSL-1.0
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "outbox/outbox_command.hpp"
#include "unit/outbox/outbox_world.hpp"
#include "wall_clock.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::test::outbox_command_test {
namespace {

using outbox::message;
using outbox::row_kind;
using outbox::shard_status;
using testing::HasSubstr;
using testing::Not;
using texts = std::vector<std::string>;
using kind = tool::outbox_settings::kind;

/// The commands, in the process of the relay.
class OutboxCommand : public outbox_world {
protected:
    tool::outbox_settings order(kind verb) const {
        tool::outbox_settings settings;
        settings.verb = verb;
        settings.database = database().native();
        return settings;
    }
    tool::outbox_settings order(kind verb, std::int64_t row) const {
        auto settings = order(verb);
        settings.row = row;
        return settings;
    }
    tool::outbox_settings rebase(std::uint32_t shard, outbox::position where) const {
        auto settings = order(kind::rebase);
        settings.shard = shard;
        settings.where = where;
        return settings;
    }

    std::string look(const tool::outbox_settings& settings) const {
        std::ostringstream out;
        EXPECT_EQ(tool::look_at_outbox(global_, settings, out), 0);
        return out.str();
    }
    boost::json::value look_json(const tool::outbox_settings& settings) {
        global_.json = true;
        const auto text = look(settings);
        global_.json = false;
        return boost::json::parse(text);
    }
    /// Carries an order out. @return what it says.
    std::string say(const tool::outbox_settings& settings) const {
        std::ostringstream out;
        asio::io_context context(1);
        auto doing =
            asio::co_spawn(context, tool::mend_outbox(global_, settings, out), asio::use_future);
        context.run();
        EXPECT_EQ(doing.get(), 0);
        return out.str();
    }
    boost::json::value say_json(const tool::outbox_settings& settings) {
        global_.json = true;
        const auto text = say(settings);
        global_.json = false;
        return boost::json::parse(text);
    }
    /// The exit code of a look or an order that fails, and what it says.
    std::pair<int, std::string> failure_of(const tool::outbox_settings& settings) const {
        const bool looks = settings.verb == kind::ls || settings.verb == kind::show ||
                           settings.verb == kind::parked || settings.verb == kind::later;
        try {
            looks ? look(settings) : say(settings);
        } catch (const tool::failure& how) {
            return {how.exit_code(), how.text()};
        }
        return {0, {}};
    }
    int exit_of(const tool::outbox_settings& settings) const { return failure_of(settings).first; }

    /// Three of a key, of which the first cannot be sent. @return its row.
    std::int64_t park() {
        cluster_.refuse("poison");
        for (const char* each : {"poison", "2", "3"})
            append("k", each);
        append("other", "4");
        start();
        drain();
        return list(row_kind::parked).at(0).row;
    }
    /// A relay whose sink has been sent more than the database knows.
    std::uint32_t make_refused() {
        return make_refused([](outbox::mark& last) {
            last.sequence += 5;
            last.row = 70;
            last.message = "of tomorrow";
        });
    }
    std::uint32_t make_refused(const std::function<void(outbox::mark&)>& edit) {
        append("k", "1");
        start();
        drain();
        const auto shard = shard_that_sent();
        stop();
        auto mark = *cluster_.mark_of(shard);
        edit(mark);
        cluster_.set_mark(shard, mark);
        append("k", "2");
        start();
        EXPECT_TRUE(await_state(shard_status::state::refused));
        EXPECT_TRUE(eventually([&] { return describe().shards.at(shard).refused.has_value(); }));
        return shard;
    }
    std::uint32_t shard_that_sent() const {
        for (const auto& each : site_.relay->status()) {
            if (each.messages > 0)
                return each.shard;
        }
        return 0;
    }

    tool::global_settings global_;
};

TEST_F(OutboxCommand, ShowsHowMuchWaitsAndForHowLong) {
    append("k", "1");
    append("k", "2");
    message later("events", "k", "3");
    later.not_before = std::chrono::system_clock::time_point(std::chrono::hours(24 * 36'525));
    append(later);
    run([](db::connection& on) {
        on.run("UPDATE mortise_outbox SET written = written - 90000000 WHERE slot & 0xffff = 1");
    });
    const auto text = look(order(kind::ls));
    EXPECT_THAT(text, testing::StartsWith("table " + describe().id + ": 2 waiting, 1 later, "));
    EXPECT_THAT(text, HasSubstr("0 parked; the oldest waits for 9"));
    EXPECT_THAT(text, HasSubstr("SHARD  WAITING"));
    EXPECT_THAT(text, Not(HasSubstr("BYTES")));
    const auto report = look_json(order(kind::ls));
    EXPECT_EQ(report.at("waiting").to_number<int>(), 2);
    EXPECT_EQ(report.at("later").to_number<int>(), 1);
    EXPECT_EQ(report.at("parked").to_number<int>(), 0);
    EXPECT_GE(report.at("oldest_seconds").as_double(), 90.0);
    EXPECT_LT(report.at("oldest_seconds").as_double(), 110.0);
    ASSERT_EQ(report.at("shards").as_array().size(), 4u);
    int rows = 0;
    for (const auto& each : report.at("shards").as_array()) {
        rows += each.at("rows").to_number<int>();
        EXPECT_EQ(each.at("state").as_string(), "open");
        EXPECT_TRUE(each.at("sink").is_null());
        EXPECT_TRUE(each.at("refused").is_null());
    }
    EXPECT_EQ(rows, 2);
}

TEST_F(OutboxCommand, ListsTheRowsThatWaitPageByPage) {
    run([](db::connection& on) {
        for (int i = 0; i < 1'100; ++i)
            outbox::append(on, message("events", "key " + std::to_string(i), "x"));
    });
    auto settings = order(kind::ls);
    settings.rows = true;
    const auto all = look_json(settings);
    ASSERT_EQ(all.at("rows").as_array().size(), 1'100u);
    const auto& last = all.at("rows").at(1'099);
    EXPECT_EQ(last.at("key").as_string(), "key 1099");
    EXPECT_EQ(last.at("payload_size").to_number<int>(), 1);
    EXPECT_EQ(last.as_object().if_contains("payload"), nullptr);
    settings.rows_max = 3;
    EXPECT_EQ(look_json(settings).at("rows").as_array().size(), 3u);
    const auto text = look(settings);
    EXPECT_THAT(text, HasSubstr("  key 2  "));
    EXPECT_THAT(text, Not(HasSubstr("  key 3  ")));
    settings.rows_max = 1'001;
    EXPECT_EQ(look_json(settings).at("rows").as_array().size(), 1'001u);
}

TEST_F(OutboxCommand, ListsNoRowThatTheTableKnowsToBeSent) {
    append("k", "1");
    run([](db::connection& on) { on.run("UPDATE mortise_outbox_shard SET row = 1"); });
    append("k", "2");
    auto settings = order(kind::ls);
    settings.rows = true;
    const auto report = look_json(settings);
    EXPECT_EQ(report.at("waiting").to_number<int>(), 1);
    ASSERT_EQ(report.at("rows").as_array().size(), 1u);
    EXPECT_EQ(report.at("rows").at(0).at("row").to_number<int>(), 2);
}

TEST_F(OutboxCommand, ShowsARowWhole) {
    message original("a\ttopic", std::string("\xff\0k", 3), "line\n\x1b[2J");
    original.headers = {{"trace", "\xfe"}};
    original.id = "id 1";
    append(original);
    append(message("t", std::nullopt, std::nullopt));
    const auto text = look(order(kind::show, 1));
    for (const char* part :
         {"row 1: waiting, shard ",
          "id: id 1\n",
          "topic: a\\x09topic\n",
          "key: \\xff\\x00k\n",
          "header trace: \\xfe\n",
          "payload, 9 bytes: line\\x0a\\x1b[2J\n"})
        EXPECT_THAT(text, HasSubstr(part));
    const auto report = look_json(order(kind::show, 1));
    EXPECT_EQ(report.at("row").to_number<int>(), 1);
    EXPECT_EQ(report.at("key_hex").as_string(), "ff006b");
    EXPECT_EQ(report.at("payload").as_string(), "line\n\x1b[2J");
    EXPECT_EQ(report.at("headers").at(0).at("value_hex").as_string(), "fe");
    EXPECT_TRUE(report.at("readable").as_bool());
    const auto bare = look(order(kind::show, 2));
    EXPECT_THAT(bare, HasSubstr("key: none"));
    EXPECT_THAT(bare, HasSubstr("a tombstone"));
    EXPECT_TRUE(look_json(order(kind::show, 2)).at("payload").is_null());
    EXPECT_EQ(exit_of(order(kind::show, 3)), tool::exit_code::nothing_to_do);
}

TEST_F(OutboxCommand, ShowsWhatIsParkedAndHowMuchWaitsForIt) {
    append("k", "0");
    const auto row = park();
    const auto text = look(order(kind::parked));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
    const auto report = look_json(order(kind::parked));
    ASSERT_EQ(report.at("parked").as_array().size(), 1u);
    const auto& only = report.at("parked").at(0);
    EXPECT_EQ(only.at("row").to_number<std::int64_t>(), row);
    EXPECT_EQ(only.at("behind").to_number<int>(), 2);
    EXPECT_EQ(only.at("topic").as_string(), "events");
    EXPECT_EQ(only.at("key").as_string(), "k");
    EXPECT_FALSE(only.at("reason").as_string().empty());
    EXPECT_GE(only.at("parked_seconds").as_double(), 0.0);
    EXPECT_EQ(look_json(order(kind::show, row)).at("state").as_string(), "parked");
    EXPECT_EQ(look_json(order(kind::show, row + 1)).at("state").as_string(), "behind");
    EXPECT_EQ(look_json(order(kind::ls)).at("parked").to_number<int>(), 3);
}

TEST_F(OutboxCommand, ReplaysAndTheRelayHearsOfIt) {
    const auto row = park();
    cluster_.refuse(std::nullopt);
    const auto name = "row " + std::to_string(row);
    EXPECT_EQ(say(order(kind::replay, row)), "replay " + name + ": 3 messages are to be sent\n");
    EXPECT_TRUE(eventually([&] { return cluster_.payloads_of("k").size() == 3; }));
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"poison", "2", "3"}));
    EXPECT_EQ(exit_of(order(kind::replay, row)), tool::exit_code::nothing_to_do);
    auto all = order(kind::replay);
    all.all = true;
    EXPECT_EQ(exit_of(all), tool::exit_code::nothing_to_do) << "nothing is parked";
}

TEST_F(OutboxCommand, ReplaysAllAtOnce) {
    park();
    cluster_.refuse(std::nullopt);
    auto all = order(kind::replay);
    all.all = true;
    EXPECT_EQ(say_json(all).at("messages").to_number<int>(), 3);
    EXPECT_TRUE(eventually([&] { return cluster_.payloads_of("k").size() == 3; }));
}

TEST_F(OutboxCommand, GivesUpWhatIsParked) {
    const auto row = park();
    const auto report = say_json(order(kind::drop, row));
    EXPECT_EQ(report.at("order").as_string(), "drop");
    EXPECT_EQ(report.at("row").to_number<std::int64_t>(), row);
    EXPECT_EQ(report.at("messages").to_number<int>(), 2);
    EXPECT_TRUE(eventually([&] { return cluster_.payloads_of("k").size() == 2; }));
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"2", "3"}));
}

TEST_F(OutboxCommand, MendsWhatIsParkedBeforeItIsSentAgain) {
    const auto row = park();
    const auto file = folder_.path() / "mended";
    std::ofstream(file) << "mended\n";
    auto mend = order(kind::replay, row);
    mend.payload_file = file;
    mend.headers = {"by=a=hand"};
    EXPECT_THAT(say(mend), HasSubstr("3 messages are to be sent"));
    EXPECT_TRUE(eventually([&] { return cluster_.payloads_of("k").size() == 3; }));
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"mended\n", "2", "3"}));
    for (const auto& each : cluster_.messages()) {
        const std::string* const by = each.message.find_header("by");
        EXPECT_EQ(by != nullptr && *by == "a=hand", each.message.payload == "mended\n");
    }
    EXPECT_EQ(exit_of(mend), tool::exit_code::nothing_to_do) << "it is not parked any more";
    cluster_.refuse("worse");
    append("another", "worse");
    drain();
    auto wrong = order(kind::replay, list(row_kind::parked).at(0).row);
    wrong.topic = std::string(250, 't');
    EXPECT_EQ(exit_of(wrong), tool::exit_code::usage);
}

TEST_F(OutboxCommand, TakesBackAndPutsOffWhatIsNotDue) {
    for (const char* id : {"reminder 1", "reminder 2"}) {
        message event("events", "k", "wake up");
        event.id = id;
        event.not_before = outbox::wall_time(outbox::wall_now()) + std::chrono::hours(1);
        append(event);
    }
    EXPECT_THAT(look(order(kind::later)), HasSubstr("reminder 2\n"));
    const auto report = look_json(order(kind::later));
    ASSERT_EQ(report.at("later").as_array().size(), 2u);
    EXPECT_EQ(report.at("later").at(0).at("id").as_string(), "reminder 1");
    auto cancel = order(kind::cancel);
    cancel.id = "reminder 1";
    EXPECT_EQ(say(cancel), "cancel reminder 1: 1 message taken back\n");
    EXPECT_EQ(exit_of(cancel), tool::exit_code::nothing_to_do);
    start();
    auto sooner = order(kind::reschedule);
    sooner.id = "reminder 2";
    EXPECT_EQ(say_json(sooner).at("messages").to_number<int>(), 1);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 1; }));
    EXPECT_EQ(exit_of(sooner), tool::exit_code::nothing_to_do);
}

TEST_F(OutboxCommand, GivesUpWhatWaits) {
    append("k", "1");
    append("k", "2");
    EXPECT_THAT(say(order(kind::discard, 1)), HasSubstr("discard row 1: given up"));
    EXPECT_EQ(exit_of(order(kind::discard, 1)), tool::exit_code::nothing_to_do);
    EXPECT_THAT(look(order(kind::show, 1)), HasSubstr("row 1: discarded, shard "));
    start();
    drain();
    EXPECT_EQ(cluster_.payloads(), texts{"2"});
}

TEST_F(OutboxCommand, SaysWhyAShardIsRefusedAndWhatToDo) {
    const auto shard = make_refused();
    const auto text = look(order(kind::ls));
    EXPECT_THAT(text, HasSubstr("\nshard " + std::to_string(shard) + " is refused: "));
    EXPECT_THAT(text, HasSubstr("the sink is at row 70, sequence 6 of table " + describe().id));
    EXPECT_THAT(text, HasSubstr("mortise outbox rebase " + std::to_string(shard) + " with"));
    const auto report = look_json(order(kind::ls)).at("shards").at(shard);
    EXPECT_EQ(report.at("state").as_string(), "refused");
    EXPECT_EQ(report.at("sink_mark").at("message").as_string(), "of tomorrow");
    const auto other = (shard + 1) % 4;
    EXPECT_EQ(exit_of(rebase(other, outbox::position::end())), tool::exit_code::nothing_to_do);
    const auto absent = failure_of(rebase(99, outbox::position::end()));
    EXPECT_EQ(absent.first, tool::exit_code::nothing_to_do);
    EXPECT_THAT(absent.second, HasSubstr("shard 99"));
}

TEST_F(OutboxCommand, SaysThatTheSinkOfAnotherTableIsNeverAccepted) {
    const auto shard = make_refused([](outbox::mark& last) { last.table = "another"; });
    const auto text = look(order(kind::ls));
    EXPECT_THAT(text, HasSubstr("of table another\n  use the right sink or database"));
    EXPECT_THAT(text, Not(HasSubstr(" with --after")));
    EXPECT_THAT(
        say(rebase(shard, outbox::position::end())), HasSubstr("; but at this sink it is refused")
    );
}

TEST_F(OutboxCommand, SaysWhereAShardGoesOn) {
    const auto shard = make_refused();
    auto where = rebase(shard, outbox::position::after(1));
    where.shard.reset();
    where.all = true;
    const auto text = say(where);
    EXPECT_THAT(text, testing::StartsWith("shard " + std::to_string(shard) + " was refused at"));
    EXPECT_THAT(text, HasSubstr("goes on after row 1: "));
    EXPECT_THAT(text, HasSubstr("the rows after it (1) are sent"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    EXPECT_TRUE(eventually([&] { return cluster_.payloads_of("k") == texts{"1", "2"}; }));
    EXPECT_EQ(exit_of(where), tool::exit_code::nothing_to_do) << "none is refused any more";
}

TEST_F(OutboxCommand, TellsProgramsWhereAShardGoesOn) {
    const auto shard = make_refused();
    const auto report = say_json(rebase(shard, outbox::position::beginning()));
    EXPECT_EQ(report.at("order").as_string(), "rebase");
    const auto& only = report.at("shards").at(0);
    EXPECT_EQ(only.at("before").at("state").as_string(), "refused");
    EXPECT_EQ(only.at("after").at("state").as_string(), "open");
    EXPECT_EQ(only.at("after").at("mark").at("row").to_number<int>(), 0);
    EXPECT_TRUE(eventually([&] { return cluster_.payloads_of("k") == texts{"1", "1", "2"}; }));
}

TEST_F(OutboxCommand, ChangesTheNumberOfShards) {
    append("k", "1");
    auto settings = order(kind::reshard);
    settings.shards = 7;
    EXPECT_EQ(
        say(settings),
        "reshard 7 shards: from now on; what was appended before is sent "
        "first\n"
    );
    const auto text = look(order(kind::ls));
    EXPECT_THAT(text, HasSubstr("  ending  "));
    EXPECT_EQ(describe().shards.size(), 11u);
    settings.shards = 8;
    EXPECT_EQ(say_json(settings).at("shards").to_number<int>(), 8);
}

TEST_F(OutboxCommand, MakesNothingWhereNothingIs) {
    auto every = std::vector<tool::outbox_settings>{
        order(kind::ls),
        order(kind::show, 1),
        order(kind::parked),
        order(kind::replay, 1),
        order(kind::drop, 1),
        rebase(0, outbox::position::end()),
        order(kind::reshard)};
    every.back().shards = 4;
    const auto poem = folder_.path() / "poem.txt";
    std::ofstream(poem) << std::string(5'000, 'r') << "oses are red";
    for (auto& each : every) {
        const auto untouched = failure_of(each);
        EXPECT_EQ(untouched.first, tool::exit_code::unavailable);
        EXPECT_THAT(untouched.second, HasSubstr("no message table"));
        each.database = (folder_.path() / "none.db").native();
        EXPECT_EQ(exit_of(each), tool::exit_code::unavailable);
        EXPECT_FALSE(std::filesystem::exists(each.database));
        each.database = poem.native();
        const auto no_database = failure_of(each);
        EXPECT_EQ(no_database.first, tool::exit_code::unavailable);
        EXPECT_THAT(no_database.second, HasSubstr("not a database"));
        EXPECT_THAT(no_database.second, HasSubstr("poem.txt"));
    }
    EXPECT_EQ(
        run([](db::connection& on) {
            auto row = on.query("SELECT count(*) FROM sqlite_schema");
            return row.step() ? row.integer(0) : -1;
        }),
        0
    );
}

TEST_F(OutboxCommand, RefusesATableOfANewerVersion) {
    append("k", "1");
    run([](db::connection& on) {
        on.run("UPDATE mortise_outbox_about SET value = 99 WHERE name = 'format'");
    });
    for (const auto& each : {order(kind::ls), order(kind::replay, 1)}) {
        const auto how = failure_of(each);
        EXPECT_EQ(how.first, tool::exit_code::unavailable);
        EXPECT_THAT(how.second, HasSubstr("format 99"));
    }
}

}  // namespace
}  // namespace mortise::test::outbox_command_test
