// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/operate.hpp"
#include "unit/outbox/inbox_fixture.hpp"
#include "wall_clock.hpp"

#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <limits>
#include <map>
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
    again.message.id = "another";
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

TEST_F(OutboxInbox, AnIdThatIsOlderThanItsWindowIsNewThoughItIsStillThere) {
    auto how = config();
    how.by = inbox_config::kind::ids;
    how.window = 1h;
    start(how);
    const auto one = of("k", "1");
    deliver({one});
    run([](db::connection& on) { on.run("UPDATE mortise_inbox_seen SET seen = seen - 3600000001"); }
    );
    deliver({one});
    EXPECT_EQ(book(), (texts{"1", "1"})) << "a quiet time is over";
    deliver({one});
    EXPECT_EQ(inbox_->stats().repeated, 1u) << "and its window begins anew";
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

TEST_F(OutboxInbox, WhatWaitsBehindAFailureCostsNoCommitOfItsOwn) {
    constexpr int behind = 600;
    failures_ = 1;
    start();
    std::vector<received> all{of("k", "fails")};
    texts lines{"fails"};
    for (int i = 0; i < behind; ++i) {
        lines.push_back(std::to_string(i));
        all.push_back(of("k", lines.back()));
    }
    const auto before = session_->stats().batches;
    deliver(all);
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == all.size(); }));
    EXPECT_LT(session_->stats().batches - before, 60u);
    EXPECT_EQ(book(), lines);
    EXPECT_TRUE(held().empty());
}

TEST_F(OutboxInbox, OneThatFailsBehindAFailureUndoesNothingBeforeIt) {
    std::map<std::string, int> calls;
    auto how = config();
    how.handler = [&](db::connection& on, const received& received) {
        const answer result = handle(on, received);
        if (received.message.payload == "once" && ++calls[received.message.id] == 1)
            throw std::runtime_error("not yet");
        return result;
    };
    start(how);
    deliver({of("k", "once"), of("k", "1"), of("k", "once"), of("k", "2"), of("l", "3")});
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == 5; }));
    EXPECT_EQ(book(), (texts{"once", "1", "once", "2"}));
    EXPECT_EQ(inbox_->stats().failed, 2u);
    EXPECT_TRUE(held().empty());
}

TEST_F(OutboxInbox, OneThatEndsTheTransactionBehindAFailureHoldsUpItsKeyOnly) {
    auto how = config();
    how.handler = [this](db::connection& on, const received& received) {
        const answer result = handle(on, received);
        if (received.message.payload == "bad")
            on.run("COMMIT");
        return result;
    };
    failures_ = 1;
    start(how);
    deliver({of("k", "fails"), of("k", "1"), of("k", "bad"), of("k", "2"), of("l", "3")});
    EXPECT_TRUE(eventually([&] { return inbox_->stats().parked == 1; }));
    EXPECT_EQ(book(), (texts{"fails", "1"}));
    EXPECT_EQ(book("l"), texts{"3"});
    const auto rows = held();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].attempts, 3u);
    EXPECT_EQ(rows[1].at, held_message::state::behind);
}

// Without portions the writer would wait for the last handler.
TEST_F(OutboxInbox, LetsOthersWriteBetweenItsHandlers) {
    constexpr std::size_t messages = 100;
    std::atomic<std::size_t> calls{0};
    std::promise<void> entered;
    auto how = config();
    how.handler = [&](db::connection& on, const received& received) {
        if (calls++ == 0)
            entered.set_value();
        work_for(2ms);
        return handle(on, received);
    };
    start(how);
    std::vector<received> all;
    for (std::size_t i = 0; i < messages; ++i)
        all.push_back(of("k", std::to_string(i)));
    auto delivered = inbox_->async_receive(all, asio::use_future);
    entered.get_future().wait();
    const auto look = [&](db::connection& on) {
        auto row = on.query("SELECT next FROM mortise_inbox_offset");
        return std::pair(row.step() ? row.integer(0) : 0, calls.load());
    };
    const auto [offset, handled] = run(look);
    EXPECT_LT(handled, messages / 2);
    EXPECT_EQ(offset, static_cast<std::int64_t>(handled)) << "as far as they have their effect";
    wait_for(std::move(delivered));
    EXPECT_EQ(book().size(), messages);
    EXPECT_EQ(calls, messages);
}

// Also where what is held is tried again.
TEST_F(OutboxInbox, LetsOthersWriteWhileAKeyCatchesUp) {
    constexpr std::size_t messages = 100;
    std::atomic<std::size_t> calls{0};
    std::promise<void> entered;
    auto how = config();
    how.retry_first = how.retry_max = 1h;
    how.handler = [&](db::connection& on, const received& received) {
        if (calls++ == 1)
            entered.set_value();
        work_for(2ms);
        return handle(on, received);
    };
    failures_ = 1;
    start(how);
    std::vector<received> all{of("k", "fails")};
    while (all.size() < messages)
        all.push_back(of("k", "next"));
    deliver(all);
    run([](db::connection& on) {
        on.run("UPDATE mortise_inbox_held SET due = 0 WHERE state = 0");
        outbox::append(on, message("events", "k", "a ring"));
    });
    entered.get_future().wait();
    const auto handled = run([&](db::connection&) { return calls.load(); });
    EXPECT_LT(handled, messages / 2);
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == messages; }));
    EXPECT_EQ(book().size(), messages);
}

// The second time the handlers are slow, and the portion ends before it.
TEST_F(OutboxInbox, OneThatEndsTheTransactionIsCalledNoMoreOftenForPortions) {
    std::atomic<int> bad_calls{0};
    auto how = config();
    how.attempts_max = 1;
    how.handler = [&](db::connection& on, const received& received) {
        if (bad_calls > 0)
            work_for(10ms);
        const answer result = handle(on, received);
        if (received.message.payload == "bad") {
            ++bad_calls;
            on.run("INSERT OR ROLLBACK INTO book(id) VALUES(1), (1)");
        }
        return result;
    };
    start(how);
    std::vector<received> all;
    for (int i = 0; i < 5; ++i)
        all.push_back(of("k", std::to_string(i)));
    all.push_back(of("bad", "bad"));
    deliver(all);
    EXPECT_EQ(inbox_->stats().parked, 1u);
    EXPECT_EQ(book().size(), 5u);
    EXPECT_EQ(bad_calls, 1);
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

TEST_F(OutboxInbox, AHandlerKnowsItsAttemptAndTheLastOneCanCompensate) {
    auto how = config();
    std::vector<std::uint32_t> attempts;
    how.handler = [&](db::connection&, const received& received) {
        EXPECT_EQ(received.attempts_max, 3u);
        {
            const std::lock_guard hold(mutex_);
            attempts.push_back(received.attempt);
        }
        if (received.is_last_attempt())
            return answer::refused(message("refusals", received.message.key, "in the end"));
        throw std::runtime_error("not yet");
    };
    start(how);
    deliver({of("k", "1")});
    EXPECT_TRUE(eventually([&] { return inbox_->stats().refused == 1; }));
    EXPECT_TRUE(held().empty()) << "nothing is parked";
    const auto sent =
        run([](db::connection& on) { return outbox::list(on, outbox::row_kind::waiting, 0, 10); });
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].message.payload, "in the end");
    const std::lock_guard hold(mutex_);
    EXPECT_EQ(attempts, (std::vector<std::uint32_t>{1, 2, 3}));
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

TEST_F(OutboxInbox, WhatAnotherProcessHeldIsTriedAfterItsDeath) {
    failures_ = 1;
    auto how = config();
    how.look_every = 10ms;
    outbox_site other;
    db::sqlite_config database;
    database.path = folder_.path() / "shop.db";
    const auto session = std::make_shared<db::sqlite>(other.executor(), std::move(database));
    inbox survivor(other.executor(), session, how);
    how.look_every = 24h;
    how.retry_first = how.retry_max = 1h;
    start(how);
    deliver({of("k", "fails"), of("k", "2")});
    EXPECT_EQ(held().size(), 2u);
    inbox_.reset();
    const auto due = outbox::wall_now() + 50'000;
    run([due](db::connection& on) { on.run("UPDATE mortise_inbox_held SET due = ?1", due); });
    EXPECT_TRUE(eventually([&] { return survivor.stats().handled == 2; }));
    EXPECT_EQ(book(), (texts{"fails", "2"}));
    wait_for(survivor.async_stop(asio::use_future));
}

TEST_F(OutboxInbox, ARefusalSendsACompensationAndUndoesTheRest) {
    start();
    deliver({of("k", "1"), of("k", "is refused"), of("k", "2")});
    EXPECT_EQ(book(), (texts{"1", "2"}));
    EXPECT_EQ(inbox_->stats().refused, 1u);
    const auto sent =
        run([](db::connection& on) { return outbox::list(on, outbox::row_kind::waiting, 0, 10); });
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].message.topic, "refusals");
    EXPECT_EQ(sent[0].message.payload, "take it back");
    ASSERT_NE(sent[0].message.find_header("mortise-compensates"), nullptr);
    EXPECT_EQ(*sent[0].message.find_header("mortise-compensates"), "m1");
}

// Two inboxes that refuse each other's compensations would never end.
TEST_F(OutboxInbox, ARefusedCompensationIsParked) {
    start();
    auto back = of("k", "is refused");
    back.message.headers.emplace_back("mortise-compensates", "first");
    deliver({back, of("k", "behind")});
    EXPECT_EQ(inbox_->stats().parked, 1u);
    EXPECT_EQ(inbox_->stats().refused, 0u);
    const auto rows = held();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].at, held_message::state::parked);
    EXPECT_NE(rows[0].reason.find("compensating message"), std::string::npos) << rows[0].reason;
    EXPECT_EQ(rows[1].at, held_message::state::behind);
    EXPECT_TRUE(book().empty());
    const bool sent = run([](db::connection& on) {
        return on.query("SELECT 1 FROM sqlite_master WHERE name = 'mortise_outbox'").step();
    });
    EXPECT_FALSE(sent) << "there was never a message";
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
    how.handler = [this](db::connection& on, const received& received) {
        if (received.message.payload == "bad") {
            on.run("INSERT INTO book(id, key, line) VALUES(1, 'k', 'bad')");
            on.run("INSERT INTO book(id, key, line) VALUES(1, 'k', 'twice')");
        }
        return handle(on, received);
    };
    start(how);
    deliver({of("k", "1"), of("bad", "bad"), of("k", "2")});
    EXPECT_EQ(book(), (texts{"1", "2"}));
    EXPECT_EQ(held().size(), 1u);
}

TEST_F(OutboxInbox, RefusesWhatHasNoNameOrPlace) {
    start();
    auto wrong = of("k", "1");
    wrong.offset = -1;
    EXPECT_EQ(fault_of({of("k", "0"), wrong}), outbox::errc::no_position);
    wrong = of("k", "1");
    wrong.source.clear();
    EXPECT_EQ(fault_of({wrong}), outbox::errc::no_position);
    // Behind the last offset that there is all of them would begin anew.
    wrong = of("k", "1");
    wrong.offset = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(fault_of({wrong}), outbox::errc::no_position);
    EXPECT_TRUE(wait_for(inbox_->async_positions(asio::use_future)).empty());
    inbox_.reset();
    auto how = config();
    how.by = inbox_config::kind::ids;
    start(how);
    wrong = of("k", "1");
    wrong.message.id.clear();
    EXPECT_EQ(fault_of({wrong}), outbox::errc::bad_message_id);
    EXPECT_TRUE(book().empty());
}

TEST_F(OutboxInbox, RefusesAConfigurationThatCannotWork) {
    const auto refused = [this](auto change) {
        auto how = config();
        change(how);
        try {
            inbox unusable(site_.executor(), session_, how);
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
    EXPECT_TRUE(refused([](auto& how) { how.look_every = 0ms; }));
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
    wait_for(std::move(delivered));
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
