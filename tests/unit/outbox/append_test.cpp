// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/bell.hpp"
#include "mortise/outbox/append.hpp"
#include "mortise/outbox/error.hpp"
#include "table/key_hash.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>

namespace mortise::test::outbox_append_test {
namespace {

using outbox::errc;
using outbox::message;
using outbox::row_kind;

class OutboxAppend : public outbox_world {
protected:
    error_code refusal_of(const message& entry) {
        auto appending = session_->async_run(
            [entry](db::connection& on) { return outbox::append(on, entry); },
            db::durability::force,
            asio::use_future
        );
        try {
            appending.get();
        } catch (const boost::system::system_error& refused) {
            return refused.code();
        }
        return {};
    }
};

/// A connection that knows nothing of mortise.
class bare_connection {
public:
    explicit bare_connection(const std::filesystem::path& path) {
        if (::sqlite3_open(path.c_str(), &handle_) != SQLITE_OK)
            throw std::runtime_error("cannot open the database");
    }
    ~bare_connection() { ::sqlite3_close(handle_); }
    bare_connection(const bare_connection&) = delete;
    bare_connection& operator=(const bare_connection&) = delete;

    void run(const char* sql) {
        if (::sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error(::sqlite3_errmsg(handle_));
    }
    sqlite3* handle() const noexcept { return handle_; }

private:
    sqlite3* handle_ = nullptr;
};

TEST_F(OutboxAppend, KeepsAllOfAMessage) {
    message event("events", "a key", std::string("\0\x01", 2));
    event.headers = {{"trace", "1"}, {"trace", "2"}};
    const auto id = append(event);
    const auto rows = list(row_kind::waiting);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].message.id, id);
    EXPECT_EQ(rows[0].message.topic, "events");
    EXPECT_EQ(rows[0].message.key, "a key");
    EXPECT_EQ(rows[0].message.payload, std::string("\0\x01", 2));
    EXPECT_EQ(rows[0].message.headers, event.headers);
}

TEST_F(OutboxAppend, TellsEmptyFromAbsent) {
    append(message("events", "", ""));
    append(message("events", std::nullopt, std::nullopt));
    const auto rows = list(row_kind::waiting);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].message.key, "");
    EXPECT_EQ(rows[0].message.payload, "");
    EXPECT_FALSE(rows[1].message.key);
    EXPECT_FALSE(rows[1].message.payload);
}

TEST_F(OutboxAppend, LeavesNothingOfWhatWasRolledBack) {
    append("k", "first");
    auto failing = session_->async_run(
        [](db::connection& on) {
            outbox::append(on, message("events", "k", "never"));
            throw std::runtime_error("the business failed");
        },
        db::durability::force,
        asio::use_future
    );
    EXPECT_THROW(failing.get(), boost::system::system_error);
    append("k", "second");
    const auto rows = list(row_kind::waiting);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].message.payload, "first");
    EXPECT_EQ(rows[1].message.payload, "second");
}

TEST_F(OutboxAppend, KeepsTheIdThatItIsGiven) {
    message event("events", "k", "v");
    event.id = "order-17";
    EXPECT_EQ(append(event), "order-17");
    EXPECT_EQ(list(row_kind::waiting).at(0).message.id, "order-17");
}

TEST_F(OutboxAppend, RefusesWhatCannotBeSent) {
    EXPECT_EQ(refusal_of(message("", "k", "v")), errc::no_topic);
    EXPECT_EQ(refusal_of(message(std::string(250, 't'), "k", "v")), errc::no_topic);
    message bad("events", "k", "v");
    bad.id = std::string(256, 'i');
    EXPECT_EQ(refusal_of(bad), errc::bad_message_id);
    bad = message("events", "k", "v");
    bad.headers.emplace_back("", "x");
    EXPECT_EQ(refusal_of(bad), errc::bad_header);
    bad.headers.assign(1'025, {"n", "x"});
    EXPECT_EQ(refusal_of(bad), errc::bad_header);
    EXPECT_EQ(
        refusal_of(message("events", "k", std::string((64u << 20u) + 1, 'p'))),
        errc::message_too_large
    );
    EXPECT_FALSE(refusal_of(message("events", "k", "v")));
    EXPECT_EQ(list(row_kind::waiting).size(), 1u);
}

TEST_F(OutboxAppend, PutsAKeyIntoOneShard) {
    for (int i = 0; i < 100; ++i) {
        append(message("one", std::to_string(i), "v"));
        append(message("two", std::to_string(i), "v"));
    }
    std::set<std::uint32_t> used;
    for (const auto& each : list(row_kind::waiting)) {
        EXPECT_EQ(*each.shard, outbox::table::key_hash(*each.message.key) % 4);
        used.insert(*each.shard);
    }
    EXPECT_EQ(used.size(), 4u);
}

TEST_F(OutboxAppend, SpreadsWhatHasNoKey) {
    for (int i = 0; i < 100; ++i)
        append(message("events", std::nullopt, "v"));
    std::set<std::uint32_t> used;
    for (const auto& each : list(row_kind::waiting))
        used.insert(*each.shard);
    EXPECT_EQ(used.size(), 4u);
}

TEST_F(OutboxAppend, WorksInATransactionOfABareConnection) {
    bare_connection own(database());
    std::atomic<int> heard{0};
    const db::bell listener(site_.executor(), database(), [&] { ++heard; });
    EXPECT_THROW(outbox::append(own.handle(), message("events", "k", "v")), error);
    own.run("BEGIN IMMEDIATE");
    const auto id = outbox::append(own.handle(), message("events", "k", "v"));
    own.run("COMMIT");
    EXPECT_EQ(heard, 0);
    EXPECT_EQ(outbox::ring(own.handle()), 1u);
    EXPECT_TRUE(eventually([&] { return heard > 0; }));
    EXPECT_EQ(list(row_kind::waiting).at(0).message.id, id);
}

TEST_F(OutboxAppend, IsNeverCommittedWithoutTheTransactionThatSqliteRolledBack) {
    bare_connection own(database());
    own.run("BEGIN IMMEDIATE");
    outbox::append(own.handle(), message("events", "k", "1"));  // makes the tables, too
    own.run("CREATE TRIGGER full BEFORE INSERT ON mortise_outbox"
            " BEGIN SELECT RAISE(ROLLBACK, 'as a full disk does'); END");
    EXPECT_THROW(outbox::append(own.handle(), message("events", "k", "2")), error);
    EXPECT_THROW(list(row_kind::waiting), boost::system::system_error) << "there is no table";
}

TEST_F(OutboxAppend, RingsWhenItIsCommittedAndNotBefore) {
    std::atomic<int> heard{0};
    const db::bell listener(site_.executor(), database(), [&] { ++heard; });
    auto failing = session_->async_run(
        [](db::connection& on) {
            outbox::append(on, message("events", "k", "never"));
            throw std::runtime_error("the business failed");
        },
        db::durability::force,
        asio::use_future
    );
    EXPECT_THROW(failing.get(), boost::system::system_error);
    run([](db::connection&) {});
    EXPECT_EQ(heard, 0);
    append("k", "v");
    EXPECT_TRUE(eventually([&] { return heard > 0; }));
}

TEST_F(OutboxAppend, GivesNumbersInTheOrderOfTheMessagesWhateverTheirShard) {
    for (int i = 1; i <= 40; ++i)
        append(std::to_string(i % 7), std::to_string(i));
    const auto page = [&](std::int64_t after, std::size_t limit) {
        return run([=](db::connection& on) {
            return outbox::list(on, row_kind::waiting, after, limit);
        });
    };
    std::set<std::uint32_t> shards;
    std::int64_t seen = 0;
    for (const std::size_t limit : {1u, 6u, 10u, 50u}) {
        for (const auto& each : page(seen, limit)) {
            EXPECT_EQ(each.row, seen + 1);
            EXPECT_EQ(each.message.payload, std::to_string(each.row));
            shards.insert(each.shard.value());
            seen = each.row;
        }
    }
    EXPECT_EQ(seen, 40);
    EXPECT_EQ(shards.size(), 4u);
    EXPECT_TRUE(page(40, 10).empty());
    EXPECT_TRUE(page(std::numeric_limits<std::int64_t>::max(), 10).empty());
    EXPECT_EQ(page(std::numeric_limits<std::int64_t>::min(), 50).size(), 40u);
}

TEST_F(OutboxAppend, FindsARowByItsNumberAndNoOther) {
    for (int i = 1; i <= 8; ++i)
        append(std::to_string(i), std::to_string(i));
    const auto found = [&](std::int64_t row) {
        return run([row](db::connection& on) { return outbox::find(on, row); });
    };
    for (int i = 1; i <= 8; ++i) {
        const auto row = found(i);
        ASSERT_TRUE(row);
        EXPECT_EQ(row->message.payload, std::to_string(i));
        // In the file it stands at a place that tells of its shard, too.
        EXPECT_FALSE(found((std::int64_t{1} << 46) + i));
    }
    for (const std::int64_t none :
         {std::int64_t{0},
          std::int64_t{-1},
          std::int64_t{9},
          std::numeric_limits<std::int64_t>::min(),
          std::numeric_limits<std::int64_t>::max()})
        EXPECT_FALSE(found(none)) << none;
}

TEST_F(OutboxAppend, MakesAllOfItsTablesOrNone) {
    append("k", "v");
    const auto path = folder_.path() / "other.db";
    bare_connection own(path);
    own.run("CREATE TABLE mortise_outbox_parked(x); BEGIN");
    EXPECT_THROW(outbox::append(own.handle(), message("events", "k", "v")), error);
    own.run("COMMIT");
    own.run("DROP TABLE mortise_outbox_parked; BEGIN");
    EXPECT_FALSE(outbox::append(own.handle(), message("events", "k", "v")).empty());
    own.run("COMMIT");
}

TEST_F(OutboxAppend, RefusesNamesWithAZeroByte) {
    message event("events", "k", "v");
    event.headers.emplace_back(std::string("a\0b", 3), "v");
    EXPECT_EQ(refusal_of(event), errc::bad_header);
    EXPECT_EQ(refusal_of(message(std::string("a\0b", 3), "k", "v")), errc::no_topic);
    EXPECT_EQ(refusal_of(message(std::string(250, 't'), "k", "v")), errc::no_topic);
}

TEST_F(OutboxAppend, LeavesATableOfANewerVersionAlone) {
    append("k", "v");
    run([](db::connection& on) {
        on.run("UPDATE mortise_outbox_about SET value = value + 1 WHERE name = 'format'");
        on.run("DROP TABLE mortise_outbox_layout");
    });
    EXPECT_EQ(refusal_of(message("events", "k", "v")), errc::newer_format);
}

}  // namespace
}  // namespace mortise::test::outbox_append_test
