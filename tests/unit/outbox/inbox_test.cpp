// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/append.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/inbox.hpp"
#include "mortise/outbox/inbox_view.hpp"
#include "mortise/outbox/operate.hpp"
#include "support/eventually.hpp"
#include "support/scratch_folder.hpp"
#include "unit/outbox/outbox_site.hpp"
#include "wall_clock.hpp"

#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::test::inbox_test {
namespace {

using namespace std::chrono_literals;
using outbox::answer;
using outbox::held_message;
using outbox::inbox;
using outbox::inbox_config;
using outbox::inbox_event;
using outbox::message;
using outbox::received;
using texts = std::vector<std::string>;

/// A book that handlers write into, in the database of the inbox.
class OutboxInbox : public testing::Test {
protected:
    OutboxInbox() { open(); }
    ~OutboxInbox() override {
        inbox_.reset();
        session_.reset();
    }

    void open() {
        db::sqlite_config config;
        config.path = folder_.path() / "shop.db";
        session_ = std::make_shared<db::sqlite>(site_.executor(), std::move(config));
    }
    inbox_config config() {
        inbox_config made;
        made.retry_first = 1ms;
        made.retry_max = 5ms;
        made.attempts_max = 3;
        made.jitter_seed = 1;
        made.handler = [this](db::connection& on, const received& what) {
            return handle(on, what);
        };
        made.observer = [this](const inbox_event& what) {
            const std::lock_guard hold(mutex_);
            events_.push_back(what);
        };
        return made;
    }
    /// Writes first, so that there is something to be undone.
    answer handle(db::connection& on, const received& what) {
        const auto text = what.what.payload.value_or("");
        on.run(
            "INSERT INTO book(key, line) VALUES(?1, ?2)",
            std::string_view(what.what.key ? *what.what.key : std::string()),
            std::string_view(text)
        );
        if (text == "fails" && failures_-- > 0)
            throw std::runtime_error("not yet");
        if (text == "is refused") {
            outbox::append(on, message("never", "k", "undone"));
            return answer::refused(message("refusals", what.what.key, "take it back"));
        }
        if (text == "is nonsense")
            return answer::parked("nobody understands it");
        return answer::done();
    }
    void start(inbox_config how) { inbox_.emplace(site_.executor(), session_, std::move(how)); }
    void start() { start(config()); }

    template <class T>
    static T wait_for(std::future<T> what) {
        EXPECT_EQ(what.wait_for(20s), std::future_status::ready);
        return what.get();
    }
    template <class Work>
    auto run(Work work) {
        return wait_for(
            session_->async_run(std::move(work), db::durability::force, asio::use_future)
        );
    }
    void SetUp() override {
        run([](db::connection& on) {
            on.run("CREATE TABLE book(id INTEGER PRIMARY KEY, key TEXT, line TEXT)");
        });
    }
    received of(const std::string& key, const std::string& payload) {
        message what("events", key, payload);
        what.id = "m" + std::to_string(next_);
        return {"events-0", next_++, std::move(what)};
    }
    void deliver(std::vector<received> messages) {
        wait_for(inbox_->async_receive(std::move(messages), asio::use_future));
    }
    error_code fault_of(std::vector<received> messages) {
        try {
            deliver(std::move(messages));
        } catch (const boost::system::system_error& why) {
            return why.code();
        }
        return {};
    }
    texts book(const std::string& key = "k") {
        return run([key](db::connection& on) {
            texts found;
            auto row =
                on.query("SELECT line FROM book WHERE key = ?1 ORDER BY id", std::string_view(key));
            while (row.step())
                found.push_back(row.text(0));
            return found;
        });
    }
    std::vector<held_message> held() {
        return run([](db::connection& on) { return outbox::list_held(on, 0, 1'000); });
    }
    std::size_t events(inbox_event::kind what) const {
        const std::lock_guard hold(mutex_);
        std::size_t found = 0;
        for (const auto& each : events_)
            found += each.what == what ? 1u : 0u;
        return found;
    }

    const scratch_folder folder_;
    mutable std::mutex mutex_;
    std::vector<inbox_event> events_;
    std::atomic<int> failures_{0};
    std::int64_t next_ = 0;
    outbox_site site_;
    std::shared_ptr<db::sqlite> session_;
    std::optional<inbox> inbox_;
};

TEST_F(OutboxInbox, HandlesMessagesInTheirOrder) {
    start();
    deliver({of("k", "1"), of("k", "2"), of("other", "3")});
    EXPECT_EQ(book(), (texts{"1", "2"}));
    EXPECT_EQ(book("other"), texts{"3"});
    EXPECT_EQ(inbox_->stats().handled, 3u);
    const auto where = wait_for(inbox_->async_positions(asio::use_future));
    EXPECT_EQ(where, (std::map<std::string, std::int64_t>{{"events-0", 3}}));
}

TEST_F(OutboxInbox, ByOffsetsARepetitionHasNoEffect) {
    start();
    const std::vector<received> some = {of("k", "1"), of("k", "2")};
    deliver(some);
    deliver(some);
    deliver({some[1], of("k", "3")});
    EXPECT_EQ(book(), (texts{"1", "2", "3"}));
    EXPECT_EQ(inbox_->stats().repeated, 3u);
    EXPECT_EQ(events(inbox_event::kind::repeated), 3u);
    // Also after a restart, and by the place alone: ids do not matter.
    inbox_.reset();
    start();
    auto again = some[0];
    again.what.id = "another";
    deliver({again});
    EXPECT_EQ(book().size(), 3u);
    // Another source has places of its own.
    again.source = "events-1";
    deliver({again});
    EXPECT_EQ(book().size(), 4u);
}

TEST_F(OutboxInbox, ByIdsARepetitionHasNoEffectWhereverItComesFrom) {
    auto how = config();
    how.by = inbox_config::kind::ids;
    start(how);
    auto one = of("k", "1");
    deliver({one, one});
    one.source = "elsewhere";
    one.offset = -1;
    deliver({one});
    EXPECT_EQ(book(), texts{"1"});
    EXPECT_EQ(inbox_->stats().repeated, 2u);
    EXPECT_EQ(run([](db::connection& on) { return outbox::describe_inboxes(on); }).at(0).ids, 1u);
}

TEST_F(OutboxInbox, ForgetsIdsAfterTheirWindowAndNotBefore) {
    auto how = config();
    how.by = inbox_config::kind::ids;
    how.window = 1h;
    start(how);
    const auto one = of("k", "1");
    deliver({one});
    for (int i = 0; i < 5; ++i)
        deliver({of("k", "x")});
    deliver({one});
    EXPECT_EQ(inbox_->stats().repeated, 1u);
    run([](db::connection& on) {
        on.run("UPDATE mortise_inbox_seen SET seen = seen - 3600000000 WHERE message_id = 'm0'");
    });
    deliver({of("k", "y")});
    deliver({one});
    EXPECT_EQ(inbox_->stats().repeated, 1u);
}

TEST_F(OutboxInbox, InboxesOfOneDatabaseDoNotKnowOfEachOther) {
    start();
    const auto one = of("k", "1");
    deliver({one});
    inbox_.reset();
    auto how = config();
    how.name = "another";
    start(how);
    deliver({one});
    EXPECT_EQ(book(), (texts{"1", "1"}));
}

TEST_F(OutboxInbox, TriesAgainWhatFailedAndKeepsItsKeyInOrder) {
    failures_ = 2;
    start();
    deliver({of("k", "1"), of("k", "fails"), of("k", "2"), of("other", "3")});
    EXPECT_EQ(book("other"), texts{"3"});
    deliver({of("k", "4")});
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == 5; }));
    EXPECT_EQ(book(), (texts{"1", "fails", "2", "4"}));
    EXPECT_EQ(inbox_->stats().failed, 2u);
    EXPECT_TRUE(held().empty());
}

TEST_F(OutboxInbox, ParksWhatFailsTooOften) {
    failures_ = 100;
    start();
    deliver({of("k", "fails"), of("k", "2"), of("other", "3")});
    EXPECT_TRUE(eventually([&] { return inbox_->stats().parked == 1; }));
    EXPECT_EQ(inbox_->stats().failed, 3u);
    const auto rows = held();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].at, held_message::state::parked);
    EXPECT_EQ(rows[0].reason, "not yet");
    EXPECT_EQ(rows[0].attempts, 3u);
    EXPECT_EQ(rows[1].at, held_message::state::behind);
    EXPECT_TRUE(book().empty());
    EXPECT_EQ(book("other"), texts{"3"});
}

TEST_F(OutboxInbox, ReplaysInOrderWhatWasParked) {
    failures_ = 3;
    start();
    deliver({of("k", "fails"), of("k", "2"), of("k", "3")});
    EXPECT_TRUE(eventually([&] { return inbox_->stats().parked == 1; }));
    deliver({of("k", "4")});
    const auto row = held().at(0).row;
    run([row](db::connection& on) { outbox::replay_held(on, row); });
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == 4; }));
    EXPECT_EQ(book(), (texts{"fails", "2", "3", "4"}));
}

TEST_F(OutboxInbox, HandlesTheRestWhenAMessageIsGivenUp) {
    start();
    deliver({of("k", "is nonsense"), of("k", "2"), of("k", "3")});
    EXPECT_EQ(inbox_->stats().parked, 1u);
    EXPECT_EQ(held().at(0).reason, "nobody understands it");
    const auto rows = held();
    EXPECT_THROW(
        run([row = rows[1].row](db::connection& on) { outbox::drop_held(on, row); }),
        boost::system::system_error
    );
    run([row = rows[0].row](db::connection& on) { outbox::drop_held(on, row); });
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == 2; }));
    EXPECT_EQ(book(), (texts{"2", "3"}));
    EXPECT_EQ(run([](db::connection& on) { return outbox::replay_all_held(on); }), 0u);
}

TEST_F(OutboxInbox, WhatIsHeldIsTriedAfterARestart) {
    failures_ = 1;
    auto how = config();
    how.retry_first = how.retry_max = 1h;
    start(how);
    deliver({of("k", "fails"), of("k", "2")});
    EXPECT_EQ(held().size(), 2u);
    inbox_.reset();
    session_.reset();
    open();
    run([](db::connection& on) { on.run("UPDATE mortise_inbox_held SET due = 0"); });
    start();
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == 2; }));
    EXPECT_EQ(book(), (texts{"fails", "2"}));
}

TEST_F(OutboxInbox, ARefusalSendsACompensationAndUndoesTheRest) {
    start();
    deliver({of("k", "1"), of("k", "is refused"), of("k", "2")});
    EXPECT_EQ(book(), (texts{"1", "2"}));
    EXPECT_EQ(inbox_->stats().refused, 1u);
    const auto sent =
        run([](db::connection& on) { return outbox::list(on, outbox::row_kind::waiting, 0, 10); });
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].what.topic, "refusals");
    EXPECT_EQ(sent[0].what.payload, "take it back");
    ASSERT_NE(sent[0].what.find_header("mortise-compensates"), nullptr);
    EXPECT_EQ(*sent[0].what.find_header("mortise-compensates"), "m1");
}

TEST_F(OutboxInbox, ARefusalThatCannotBeSentIsTriedAgain) {
    auto how = config();
    how.handler = [](db::connection&, const received&) {
        return answer::refused(message("", "k", "no topic"));
    };
    start(how);
    deliver({of("k", "1")});
    EXPECT_TRUE(eventually([&] { return inbox_->stats().parked == 1; }));
    EXPECT_NE(held().at(0).reason.find("compensating message"), std::string::npos);
}

TEST_F(OutboxInbox, AHandlerThatBreaksATransactionBreaksItsOwnPartOnly) {
    auto how = config();
    how.handler = [this](db::connection& on, const received& what) {
        if (what.what.payload == "bad") {
            on.run("INSERT INTO book(id, key, line) VALUES(1, 'k', 'bad')");
            on.run("INSERT INTO book(id, key, line) VALUES(1, 'k', 'twice')");
        }
        return handle(on, what);
    };
    start(how);
    deliver({of("k", "1"), of("bad", "bad"), of("k", "2")});
    EXPECT_EQ(book(), (texts{"1", "2"}));
    EXPECT_EQ(held().size(), 1u);
}

// At the end of the transaction nobody would know whose it is.
TEST_F(OutboxInbox, AForeignKeyThatIsLeftOpenIsTheFailureOfItsMessage) {
    run([](db::connection& on) {
        on.run("CREATE TABLE parcel(id INTEGER PRIMARY KEY)");
        on.run("CREATE TABLE label(of INTEGER REFERENCES parcel DEFERRABLE INITIALLY DEFERRED)");
    });
    auto how = config();
    how.handler = [this](db::connection& on, const received& what) {
        if (what.what.payload == "orphan")
            on.run("INSERT INTO label VALUES(7)");
        return handle(on, what);
    };
    start(how);
    deliver({of("k", "1"), of("bad", "orphan"), of("bad", "2"), of("k", "3")});
    EXPECT_EQ(book(), (texts{"1", "3"}));
    EXPECT_TRUE(eventually([&] { return inbox_->stats().parked == 1; }));
    EXPECT_EQ(inbox_->stats().failed, 3u);
    const auto rows = held();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].attempts, 3u);
    EXPECT_NE(rows[0].reason.find("foreign key"), std::string::npos) << rows[0].reason;
    run([row = rows[0].row](db::connection& on) {
        on.run("INSERT INTO parcel VALUES(7)");
        outbox::replay_held(on, row);
    });
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == 4; }));
    EXPECT_EQ(book("bad"), (texts{"orphan", "2"}));
}

/// What a handler does to the transaction that it is called in; whether it lets the error pass.
class spoiler {
public:
    const char* sql;
    bool passes;
};

class OutboxInboxSpoiled : public OutboxInbox, public testing::WithParamInterface<spoiler> {
protected:
    void SetUp() override {
        OutboxInbox::SetUp();
        run([](db::connection& on) {
            on.run("CREATE TABLE trap(x)");
            on.run("CREATE TRIGGER snap BEFORE INSERT ON trap"
                   " BEGIN SELECT RAISE(ROLLBACK, 'snap'); END");
        });
        auto how = config();
        how.handler = [this](db::connection& on, const received& what) {
            const answer said = handle(on, what);
            if (what.what.payload == "bad" && broken_)
                spoil(on);
            return said;
        };
        start(how);
    }
    static void spoil(db::connection& on) {
        try {
            on.run(GetParam().sql);
        } catch (const error&) {
            if (GetParam().passes)
                throw;
        }
    }
    std::atomic<bool> broken_{true};
};

TEST_P(OutboxInboxSpoiled, AMessageWhoseHandlerEndsTheTransactionIsParkedAndHoldsUpItsKeyOnly) {
    std::vector<received> some;
    texts others;
    for (int i = 0; i < 9; ++i) {
        others.push_back(std::to_string(i));
        some.push_back(of("k", others.back()));
        if (i == 2 || i == 6)
            some.push_back(of("bad" + std::to_string(i), "bad"));
    }
    some.push_back(of("bad2", "behind"));
    deliver(some);
    EXPECT_EQ(book(), others);
    EXPECT_TRUE(eventually([&] { return inbox_->stats().parked == 2; }));
    EXPECT_EQ(inbox_->stats().failed, 6u);
    deliver(some);
    EXPECT_EQ(inbox_->stats().repeated, some.size());
    const auto rows = held();
    ASSERT_EQ(rows.size(), 3u);
    for (const auto& each : rows) {
        const bool bad = each.what.what.payload == "bad";
        EXPECT_EQ(each.at, bad ? held_message::state::parked : held_message::state::behind);
        EXPECT_EQ(each.attempts, bad ? 3u : 0u);
        EXPECT_EQ(each.reason.empty(), !bad);
    }
    EXPECT_EQ(book(), others);
    EXPECT_TRUE(book("bad2").empty());
    broken_ = false;
    run([](db::connection& on) { outbox::replay_all_held(on); });
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == some.size(); }));
    EXPECT_EQ(book("bad2"), (texts{"bad", "behind"}));
    EXPECT_EQ(book("bad6"), texts{"bad"});
}

INSTANTIATE_TEST_SUITE_P(
    ,
    OutboxInboxSpoiled,
    testing::Values(
        spoiler{"COMMIT", true},
        spoiler{"COMMIT", false},
        spoiler{"ROLLBACK", true},
        spoiler{"INSERT INTO trap VALUES(1)", true},
        spoiler{"INSERT INTO trap VALUES(1)", false},
        spoiler{"INSERT OR ROLLBACK INTO book(id) VALUES(1), (1)", true},
        spoiler{"RELEASE mortise_message", false}
    )
);

TEST_F(OutboxInbox, WhatComesOfASourceInBetweenIsNotPassedOverInSilence) {
    std::promise<void> entered;
    std::promise<void> leave;
    auto how = config();
    how.handler = [&](db::connection& on, const received& what) {
        if (what.what.payload == "bad" && failures_-- > 0) {
            entered.set_value();
            leave.get_future().wait();
            on.run("COMMIT");
        }
        return handle(on, what);
    };
    failures_ = 1;
    start(how);
    const std::vector<received> first = {of("k", "1"), of("k", "bad")};
    auto delivered = inbox_->async_receive(first, asio::use_future);
    entered.get_future().wait();
    auto second = inbox_->async_receive(std::vector<received>{of("k", "3")}, asio::use_future);
    leave.set_value();
    wait_for(std::move(second));
    try {
        wait_for(std::move(delivered));
        ADD_FAILURE() << "its messages are taken for known";
    } catch (const boost::system::system_error& why) {
        EXPECT_EQ(why.code(), mortise::errc::rolled_back);
    }
    EXPECT_EQ(book(), texts{"3"});
}

TEST_F(OutboxInbox, RefusesWhatHasNoNameOrPlace) {
    start();
    auto wrong = of("k", "1");
    wrong.offset = -1;
    EXPECT_EQ(fault_of({of("k", "0"), wrong}), outbox::errc::no_position);
    wrong = of("k", "1");
    wrong.source.clear();
    EXPECT_EQ(fault_of({wrong}), outbox::errc::no_position);
    inbox_.reset();
    auto how = config();
    how.by = inbox_config::kind::ids;
    start(how);
    wrong = of("k", "1");
    wrong.what.id.clear();
    EXPECT_EQ(fault_of({wrong}), outbox::errc::bad_message_id);
    EXPECT_TRUE(book().empty());
}

TEST_F(OutboxInbox, RefusesAConfigurationThatCannotWork) {
    const auto refused = [this](auto change) {
        auto how = config();
        change(how);
        try {
            inbox made(site_.executor(), session_, how);
        } catch (const error& why) {
            return why.code() == mortise::errc::bad_config && !why.remedy().empty();
        }
        return false;
    };
    EXPECT_TRUE(refused([](auto& how) { how.name.clear(); }));
    EXPECT_TRUE(refused([](auto& how) { how.handler = nullptr; }));
    EXPECT_TRUE(refused([](auto& how) { how.window = 0ms; }));
    EXPECT_TRUE(refused([](auto& how) { how.attempts_max = 0; }));
    EXPECT_TRUE(refused([](auto& how) { how.retry_first = 0ms; }));
    EXPECT_THROW(inbox(site_.executor(), nullptr, config()), error);
}

TEST_F(OutboxInbox, GoesOnWhereAnOperatorSays) {
    start();
    const auto move = [](std::string_view source, std::int64_t next) {
        return
            [source, next](db::connection& on) { outbox::move_inbox(on, "inbox", source, next); };
    };
    const auto at = [](std::int64_t offset, const char* line) {
        return received("stream", offset, message("events", "k", line));
    };
    deliver({at(7, "1")});
    EXPECT_THROW(run(move("stream", -1)), boost::system::system_error);
    EXPECT_THROW(run(move("another", 0)), boost::system::system_error);
    run(move("stream", 0));
    deliver({at(0, "2"), at(1, "3")});
    run(move("stream", 5));
    deliver({at(4, "never"), at(5, "4")});
    EXPECT_EQ(book(), (texts{"1", "2", "3", "4"}));
}

TEST_F(OutboxInbox, TakesNothingMoreOnceItIsStopped) {
    start();
    deliver({of("k", "1")});
    wait_for(inbox_->async_stop(asio::use_future));
    EXPECT_EQ(fault_of({of("k", "2")}), outbox::errc::stopped);
    EXPECT_EQ(book(), texts{"1"});
}

TEST_F(OutboxInbox, AStopWaitsForTheHandler) {
    std::promise<void> entered;
    std::promise<void> leave;
    auto how = config();
    how.handler = [&](db::connection&, const received&) {
        entered.set_value();
        leave.get_future().wait();
        return answer::done();
    };
    start(how);
    auto delivered = inbox_->async_receive(std::vector<received>{of("k", "1")}, asio::use_future);
    entered.get_future().wait();
    auto stopped = inbox_->async_stop(asio::use_future);
    EXPECT_EQ(stopped.wait_for(100ms), std::future_status::timeout) << "it is still being called";
    leave.set_value();
    wait_for(std::move(stopped));
    EXPECT_EQ(delivered.wait_for(0ms), std::future_status::ready);
    delivered.get();
}

TEST_F(OutboxInbox, BringsTablesOfAnOlderVersionUpToDate) {
    start();
    deliver({of("k", "is nonsense")});
    ASSERT_EQ(held().size(), 1u);
    run([](db::connection& on) {
        on.run("ALTER TABLE mortise_inbox_held DROP COLUMN arrived");
        on.run("UPDATE mortise_inbox_about SET value = 1 WHERE name = 'format'");
    });
    const auto look = [](db::connection& on) { return outbox::list_held(on, 0, 10); };
    try {
        run(look);
        ADD_FAILURE() << "it was read";
    } catch (const boost::system::system_error& refused) {
        EXPECT_EQ(refused.code(), outbox::errc::older_format);
    }
    const std::int64_t before = outbox::wall_now();
    deliver({of("k", "2")});
    const auto all = held();
    ASSERT_EQ(all.size(), 2u);
    for (const auto& each : all)
        EXPECT_GE(each.arrived, outbox::wall_time(before)) << each.row;
}

TEST_F(OutboxInbox, LeavesTablesOfANewerVersionAlone) {
    start();
    deliver({of("k", "1")});
    run([](db::connection& on) { on.run("UPDATE mortise_inbox_about SET value = 3"); });
    EXPECT_EQ(fault_of({of("k", "2")}), outbox::errc::newer_format);
}

}  // namespace
}  // namespace mortise::test::inbox_test
