// SPDX-License-Identifier: BSL-1.0
// Tables of versions before this one.
#include "mortise/outbox/error.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test::outbox_older_table_test {
namespace {

using outbox::row_kind;

// Turns a table into one of the first format: rows by their number, and an index by shard.
constexpr const char* first_format[] = {
    "DROP INDEX mortise_outbox_by_away",
    "ALTER TABLE mortise_outbox_parked DROP COLUMN away",
    "ALTER TABLE mortise_outbox RENAME TO mortise_outbox_after",
    "CREATE TABLE mortise_outbox(id INTEGER PRIMARY KEY AUTOINCREMENT, shard INTEGER NOT NULL,"
    " message_id TEXT NOT NULL, topic TEXT NOT NULL, key BLOB, payload BLOB, headers BLOB,"
    " written INTEGER NOT NULL)",
    "CREATE INDEX mortise_outbox_by_shard ON mortise_outbox(shard, id)",
    "INSERT INTO mortise_outbox SELECT slot & 0x3fffffffffff, slot >> 46, message_id, topic, key,"
    " payload, headers, written FROM mortise_outbox_after",
    "DROP TABLE mortise_outbox_after",
    "UPDATE sqlite_sequence SET seq = (SELECT last_row FROM mortise_outbox_counter)"
    " WHERE name = 'mortise_outbox'",
    "DROP TABLE mortise_outbox_counter",
    "ALTER TABLE mortise_outbox_layout DROP COLUMN id",
    "DROP TABLE mortise_outbox_id",
    "DROP INDEX mortise_outbox_later_by_id",
    "UPDATE mortise_outbox_about SET value = 1 WHERE name = 'format'",
};
// The second: layouts without an id.
constexpr const char* second_format[] = {
    "DROP INDEX mortise_outbox_by_away",
    "ALTER TABLE mortise_outbox_parked DROP COLUMN away",
    "ALTER TABLE mortise_outbox_layout DROP COLUMN id",
    "DROP TABLE mortise_outbox_id",
    "DROP INDEX mortise_outbox_later_by_id",
    "UPDATE mortise_outbox_about SET value = 2 WHERE name = 'format'",
};
// The third: no ids that are remembered, and nothing that is parked is sent by itself.
constexpr const char* third_format[] = {
    "DROP INDEX mortise_outbox_by_away",
    "ALTER TABLE mortise_outbox_parked DROP COLUMN away",
    "DROP TABLE mortise_outbox_id",
    "DROP INDEX mortise_outbox_later_by_id",
    "UPDATE mortise_outbox_about SET value = 3 WHERE name = 'format'",
};

class OutboxOlderTable : public outbox_world {
protected:
    static constexpr int keys = 12;

    void append_round(int round) {
        for (int key = 0; key < keys; ++key)
            append(std::to_string(key), std::to_string(round));
    }
    template <std::size_t Count>
    void make_old(const char* const (&changes)[Count]) {
        run([&changes](db::connection& on) {
            for (const char* each : changes)
                on.run(each);
        });
        // Its marks knew nothing of layouts, either.
        for (std::uint32_t shard = 0; shard < 4; ++shard) {
            if (auto last = cluster_.mark_of(shard)) {
                last->layout.clear();
                cluster_.set_mark(shard, *last);
            }
        }
    }
    void make_old() { make_old(first_format); }
    std::map<std::int64_t, std::string> ids_by_row(row_kind kind) {
        std::map<std::int64_t, std::string> found;
        for (const auto& each : list(kind))
            found.emplace(each.row, each.message.id);
        return found;
    }
    void expect_rounds(int rounds) const {
        for (int key = 0; key < keys; ++key) {
            const auto sent = cluster_.payloads_of(std::to_string(key));
            ASSERT_EQ(sent.size(), static_cast<std::size_t>(rounds)) << "of key " << key;
            for (int round = 0; round < rounds; ++round)
                EXPECT_EQ(sent.at(static_cast<std::size_t>(round)), std::to_string(round));
        }
    }
};

TEST_F(OutboxOlderTable, IsBroughtUpToDateByAMessage) {
    append_round(0);
    append_round(1);
    const auto before = ids_by_row(row_kind::waiting);
    ASSERT_EQ(before.size(), 2u * keys);
    run([](db::connection& on) { on.run("DELETE FROM mortise_outbox WHERE slot & 0xff = 24"); });
    make_old();
    append("new", "0");
    auto after = ids_by_row(row_kind::waiting);
    EXPECT_EQ(after.erase(25), 1u) << "the number of a row that is gone is not used again";
    ASSERT_EQ(after.size(), before.size() - 1);
    EXPECT_TRUE(std::includes(before.begin(), before.end(), after.begin(), after.end()));
}

TEST_F(OutboxOlderTable, IsBroughtUpToDateByARelayWhichGoesOnAtItsMark) {
    append_round(0);
    append_round(1);
    start();
    drain();
    stop();
    append_round(2);
    make_old();
    start();
    drain();
    expect_rounds(3);
    append_round(3);
    drain();
    expect_rounds(4);
}

TEST_F(OutboxOlderTable, WithLayoutsThatHaveNoIdGoesOnAtItsMark) {
    append_round(0);
    start();
    drain();
    stop();
    make_old(second_format);
    append_round(1);
    start();
    drain();
    run([](db::connection& on) { outbox::reshard(on, 2); });
    append_round(2);
    drain();
    expect_rounds(3);
    EXPECT_TRUE(cluster_.mark_of(0)->layout.empty());
    EXPECT_FALSE(cluster_.mark_of(4)->layout.empty());
}

TEST_F(OutboxOlderTable, ThatRemembersNoIdsIsBroughtUpToDateByAMessageThatWantsIt) {
    append_round(0);
    run([](db::connection& on) {
        for (const char* each : third_format)
            on.run(each);
    });
    outbox::message event("events", "k", "v");
    event.id = "order 1";
    const auto again = [event](db::connection& on) {
        outbox::append(on, event, {.unique_for = std::chrono::hours(1)});
    };
    run(again);
    try {
        run(again);
        ADD_FAILURE() << "it was appended twice";
    } catch (const boost::system::system_error& refused) {
        EXPECT_EQ(refused.code(), outbox::errc::duplicate_id);
    }
    start();
    drain();
    expect_rounds(1);
    EXPECT_EQ(cluster_.payloads_of("k").size(), 1u);
}

TEST_F(OutboxOlderTable, MayStandBesideAViewThatIsBroken) {
    append_round(0);
    make_old();
    run([](db::connection& on) {
        on.run("CREATE TABLE gone(x)");
        on.run("CREATE VIEW broken AS SELECT x FROM gone");
        on.run("DROP TABLE gone");
    });
    append_round(1);
    start();
    drain();
    expect_rounds(2);
}

TEST_F(OutboxOlderTable, KeepsWhatIsParkedAndWhatWaitsBehindIt) {
    append("k", "bad");
    append("k", "1");
    append("other", "2");
    cluster_.refuse("bad");
    start();
    EXPECT_TRUE(eventually([&] { return list(row_kind::parked).size() == 2; }));
    stop();
    make_old();
    start();
    drain();
    const auto parked = list(row_kind::parked);
    ASSERT_EQ(parked.size(), 2u);
    cluster_.refuse(std::nullopt);
    EXPECT_EQ(run([&](db::connection& on) { return outbox::replay(on, parked[0].row); }), 2u);
    drain();
    EXPECT_EQ(cluster_.payloads_of("k"), (std::vector<std::string>{"bad", "1"}));
}

TEST_F(OutboxOlderTable, ParksWhatHasNoTopicUntilThatIsThere) {
    append("k", "1");
    make_old(third_format);
    cluster_.set_away("events");
    auto how = config();
    how.topic_look_every = std::chrono::milliseconds(10);
    start(how);
    EXPECT_TRUE(eventually([&] { return events(outbox::relay_event::kind::parked) == 1; }));
    EXPECT_EQ(list(row_kind::parked).size(), 1u);
    cluster_.set_away("events", false);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 1; }));
    EXPECT_TRUE(list(row_kind::parked).empty());
}

TEST_F(OutboxOlderTable, IsNotTouchedByOneWhoLooks) {
    append("k", "v");
    make_old();
    auto looking = session_->async_read(
        [](db::connection& on) { return outbox::describe(on); }, asio::use_future
    );
    try {
        looking.get();
        ADD_FAILURE() << "it was described";
    } catch (const boost::system::system_error& refused) {
        EXPECT_EQ(refused.code(), outbox::errc::older_format);
        EXPECT_NE(std::string(refused.what()).find("bring them up to date"), std::string::npos);
    }
}

}  // namespace
}  // namespace mortise::test::outbox_older_table_test
