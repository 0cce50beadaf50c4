// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace mortise::test::outbox_command_line_test {
namespace {

using tool::inbox_settings;
using tool::outbox_settings;
using word_list = std::vector<std::string>;

outbox_settings outbox_order(word_list arguments) {
    arguments.insert(arguments.begin(), "outbox");
    arguments.insert(arguments.end(), {"--db", "shop.db"});
    const auto settings = std::get<outbox_settings>(tool::parse_command_line(arguments).wanted);
    EXPECT_EQ(settings.database, "shop.db");
    return settings;
}

inbox_settings inbox_order(word_list arguments) {
    arguments.insert(arguments.begin(), "inbox");
    arguments.insert(arguments.end(), {"--db", "shop.db"});
    const auto settings = std::get<inbox_settings>(tool::parse_command_line(arguments).wanted);
    EXPECT_EQ(settings.database, "shop.db");
    return settings;
}

/// Returns the complaint about a command line that cannot be understood; empty if it can be.
std::string complaint(const word_list& arguments) {
    try {
        tool::parse_command_line(arguments);
    } catch (const tool::failure& how) {
        EXPECT_EQ(how.exit_code(), tool::exit_code::usage);
        return how.text();
    }
    return {};
}

TEST(OutboxCommandLine, KnowsHowToLook) {
    using kind = outbox_settings::kind;
    const auto ls = outbox_order({"ls"});
    EXPECT_EQ(ls.verb, kind::ls);
    EXPECT_FALSE(ls.rows);
    EXPECT_EQ(ls.rows_max, std::numeric_limits<std::size_t>::max());
    const auto rows = outbox_order({"ls", "--rows", "--limit", "20"});
    EXPECT_TRUE(rows.rows);
    EXPECT_EQ(rows.rows_max, 20u);
    const auto show = outbox_order({"show", "9223372036854775807"});
    EXPECT_EQ(show.verb, kind::show);
    EXPECT_EQ(show.row, std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(outbox_order({"parked"}).verb, kind::parked);
}

TEST(OutboxCommandLine, KnowsHowToMend) {
    using kind = outbox_settings::kind;
    const auto replay = outbox_order({"replay", "7"});
    EXPECT_EQ(replay.verb, kind::replay);
    EXPECT_EQ(replay.row, 7);
    EXPECT_FALSE(replay.all);
    EXPECT_TRUE(outbox_order({"replay", "--all"}).all);
    const auto drop = outbox_order({"drop", "7", "--yes"});
    EXPECT_EQ(drop.verb, kind::drop);
    EXPECT_EQ(drop.row, 7);
    const auto after = outbox_order({"rebase", "3", "--after", "17"});
    EXPECT_EQ(after.verb, kind::rebase);
    EXPECT_EQ(after.shard, 3u);
    ASSERT_TRUE(after.where);
    EXPECT_EQ(after.where->row(), 17);
    EXPECT_EQ(outbox_order({"rebase", "--all", "--beginning"}).where->row(), 0);
    EXPECT_EQ(outbox_order({"rebase", "0", "--end"}).where->row(), -1);
    const auto reshard = outbox_order({"reshard", "256"});
    EXPECT_EQ(reshard.verb, kind::reshard);
    EXPECT_EQ(reshard.shards, 256u);
}

TEST(OutboxCommandLine, KnowsHowToTakeBack) {
    using kind = outbox_settings::kind;
    EXPECT_EQ(outbox_order({"later"}).verb, kind::later);
    const auto cancel = outbox_order({"cancel", "an id", "--yes"});
    EXPECT_EQ(cancel.verb, kind::cancel);
    EXPECT_EQ(cancel.id, "an id");
    const auto put_off = outbox_order({"reschedule", "an id", "--in", "2m"});
    EXPECT_EQ(put_off.verb, kind::reschedule);
    EXPECT_EQ(put_off.due_in, std::chrono::minutes(2));
    EXPECT_EQ(outbox_order({"discard", "7", "--yes"}).row, 7);
    const auto mend = outbox_order({"replay", "7", "--topic", "orders", "--header", "a=b"});
    EXPECT_EQ(mend.topic, "orders");
    EXPECT_EQ(mend.headers, word_list{"a=b"});
    for (const word_list& wrong :
         {word_list{"outbox", "cancel", "an id", "--db", "x"},
          word_list{"outbox", "discard", "7", "--db", "x"},
          word_list{"outbox", "reschedule", "an id", "--db", "x"},
          word_list{"outbox", "replay", "--all", "--topic", "t", "--db", "x"},
          word_list{"outbox", "replay", "7", "--header", "=b", "--db", "x"}})
        EXPECT_NE(complaint(wrong), "");
}

TEST(OutboxCommandLine, KnowsWhereARelaySendsTo) {
    const auto relay = outbox_order({"relay", "--to", "spool"});
    EXPECT_EQ(relay.verb, outbox_settings::kind::relay);
    EXPECT_EQ(relay.folder, "spool");
    EXPECT_FALSE(relay.until_empty);
    EXPECT_EQ(relay.file_bytes, 0u);
    const auto bounded =
        outbox_order({"relay", "--to", "spool", "--file-bytes", "1000", "--files-kept", "3"});
    EXPECT_EQ(bounded.file_bytes, 1'000u);
    EXPECT_EQ(bounded.files_kept, 3u);
    EXPECT_NE(complaint({"outbox", "relay", "--to", "x", "--files-kept", "3", "--db", "y"}), "");
    EXPECT_TRUE(outbox_order({"relay", "--to", "spool", "--until-empty"}).until_empty);
    const auto locked = tool::parse_command_line(
        {"outbox", "relay", "--db", "x", "--to", "y", "--store", "sqlite:locks.db"}
    );
    EXPECT_EQ(locked.global.store, "sqlite:locks.db");
}

TEST(OutboxCommandLine, KnowsWhichKafkaARelaySendsTo) {
    const auto relay = outbox_order(
        {"relay",
         "--kafka",
         "one:9092,two:9092",
         "--setting",
         "a=b",
         "--setting",
         "c=d=e",
         "--setting-env",
         "sasl.password=SECRET",
         "--setting-file",
         "kafka.conf",
         "--progress-topic",
         "marks",
         "--progress-partitions",
         "3",
         "--id-prefix",
         "shop",
         "--topic-wait",
         "30s"}
    );
    EXPECT_EQ(relay.folder, "");
    EXPECT_EQ(relay.kafka.servers, "one:9092,two:9092");
    EXPECT_EQ(relay.kafka.settings, (word_list{"a=b", "c=d=e"}));
    EXPECT_EQ(relay.kafka.variables, word_list{"sasl.password=SECRET"});
    EXPECT_EQ(relay.kafka.file, "kafka.conf");
    EXPECT_EQ(relay.kafka.progress_topic, "marks");
    EXPECT_EQ(relay.kafka.progress_partitions, 3);
    EXPECT_EQ(relay.kafka.id_prefix, "shop");
    EXPECT_EQ(relay.kafka.topic_wait, std::chrono::seconds(30));
}

TEST(OutboxCommandLine, KnowsInboxes) {
    using kind = inbox_settings::kind;
    EXPECT_EQ(inbox_order({"ls"}).verb, kind::ls);
    EXPECT_EQ(inbox_order({"parked"}).verb, kind::parked);
    EXPECT_FALSE(inbox_order({"parked"}).all);
    EXPECT_TRUE(inbox_order({"parked", "--all"}).all);
    const auto move = inbox_order({"move", "c/orders/0", "--to", "17", "--inbox", "shipping"});
    EXPECT_EQ(move.verb, kind::move);
    EXPECT_EQ(move.source, "c/orders/0");
    EXPECT_EQ(move.next, 17);
    EXPECT_EQ(move.inbox, "shipping");
    EXPECT_EQ(inbox_order({"move", "c/orders/0", "--to", "0"}).inbox, "inbox");
    const auto replay = inbox_order({"replay", "4"});
    EXPECT_EQ(replay.verb, kind::replay);
    EXPECT_EQ(replay.row, 4);
    EXPECT_TRUE(inbox_order({"replay", "--all"}).all);
    const auto drop = inbox_order({"drop", "4", "--yes"});
    EXPECT_EQ(drop.verb, kind::drop);
    EXPECT_EQ(drop.row, 4);
}

TEST(OutboxCommandLine, SaysWhatIsMissing) {
    const auto of = [](word_list arguments) {
        arguments.insert(arguments.end(), {"--db", "x"});
        return complaint(arguments);
    };
    const auto says = [&](const word_list& arguments, const std::string& word) {
        return of(arguments).find(word) != std::string::npos;
    };
    EXPECT_TRUE(says({"outbox", "replay"}, "--all"));
    EXPECT_TRUE(says({"inbox", "move", "s"}, "--to"));
    EXPECT_TRUE(says({"inbox", "move", "s", "--to", "-1"}, "offset"));
    EXPECT_TRUE(says({"outbox", "drop", "7"}, "--yes"));
    EXPECT_TRUE(says({"outbox", "rebase", "3"}, "--beginning"));
    EXPECT_TRUE(says({"outbox", "rebase", "--end"}, "--all"));
    EXPECT_TRUE(says({"outbox", "relay"}, "--to"));
    EXPECT_TRUE(says({"outbox", "relay"}, "--kafka"));
    EXPECT_TRUE(says({"outbox", "relay", "--kafka", ""}, "--kafka"));
    EXPECT_TRUE(says({"outbox", "relay", "--to", ""}, "--to"));
    EXPECT_TRUE(says({"outbox", "show", "-1"}, "-1"));
    EXPECT_TRUE(says({"inbox", "drop", "7"}, "--yes"));
    EXPECT_TRUE(says({"inbox", "replay"}, "--all"));
}

TEST(OutboxCommandLine, RefusesWhatContradictsItselfOrIsNoNumber) {
    for (const word_list& wrong :
         {word_list{"outbox"},
          word_list{"outbox", "show"},
          word_list{"outbox", "show", "0"},
          word_list{"outbox", "show", "7x"},
          word_list{"outbox", "show", "9223372036854775808"},
          word_list{"outbox", "ls", "--limit", "5"},
          word_list{"outbox", "ls", "--rows", "--limit", "0"},
          word_list{"outbox", "replay", "7", "--all"},
          word_list{"outbox", "drop", "--yes"},
          word_list{"outbox", "rebase", "3", "--all", "--end"},
          word_list{"outbox", "rebase", "3", "--end", "--beginning"},
          word_list{"outbox", "rebase", "3", "--end", "--after", "1"},
          word_list{"outbox", "rebase", "4294967296", "--end"},
          word_list{"outbox", "rebase", "3", "--after", "-1"},
          word_list{"outbox", "reshard"},
          word_list{"outbox", "reshard", "0"},
          word_list{"outbox", "reshard", "257"},
          word_list{"outbox", "relay", "--to", "x", "--kafka", "y"},
          word_list{"outbox", "relay", "--to", "x", "--setting", "a=b"},
          word_list{"outbox", "relay", "--kafka", "y", "--progress-partitions", "0"},
          word_list{"outbox", "poem"},
          word_list{"inbox"},
          word_list{"inbox", "rebase", "3", "--end"}}) {
        auto with = wrong;
        with.insert(with.end(), {"--db", "x"});
        EXPECT_NE(complaint(with), "") << testing::PrintToString(wrong);
    }
    EXPECT_NE(complaint({"outbox", "ls"}), "");
    EXPECT_NE(complaint({"inbox", "ls"}), "");
}

}  // namespace
}  // namespace mortise::test::outbox_command_line_test
