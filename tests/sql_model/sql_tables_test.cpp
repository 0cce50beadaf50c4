// SPDX-License-Identifier: BSL-1.0
// The statements of the model, one transaction after the other: what the shell relies on.
#include "sql_model/sql_tables.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::sql_model {
namespace {

using namespace std::chrono_literals;
using store_detail::sql_actor;
using store_detail::sql_lock_change;
using store_detail::sql_push;

class SqlTables : public testing::Test {
protected:
    sql_actor begin(std::uint64_t generation = 1, std::uint64_t number = 0) {
        session_start start;
        start.id = {1, number != 0 ? number : ++sessions_};
        start.generation = generation;
        start.ttl = 1s;
        return {tables_.prove(now_, start)->key, generation};
    }

    auto take(sql_actor who, request_id id, bool join = true) {
        return *tables_.take(now_, who, "door", id, join, ++stamp_);
    }

    auto row() { return tables_.load(now_, {}, "door", 0)->row; }

    /// A change of the lock that writes the present row again.
    sql_lock_change same_again(sql_actor who) {
        sql_lock_change change;
        change.name = "door";
        change.actor = who;
        change.row = row();
        change.expected = change.row.stamp;
        change.row.stamp = ++stamp_;
        return change;
    }

    clock::time_point now_{1h};
    std::uint64_t sessions_ = 0;
    store_detail::sql_stamp stamp_ = 100;
    std::vector<sql_push> pushes_;
    sql_tables tables_{[this](const sql_push& push) { pushes_.push_back(push); }};
};

TEST_F(SqlTables, TheFirstWaiterTellsTheHolderAndTheOthersDoNot) {
    const auto alice = begin();
    EXPECT_TRUE(take(alice, 1).granted);
    const auto bob = take(begin(), 1);
    EXPECT_TRUE(bob.apt && !bob.granted);
    EXPECT_EQ(bob.queue, 1u);
    const auto carol = take(begin(), 1);
    EXPECT_EQ(carol.queue, 2u);
    EXPECT_GT(carol.ordinal, bob.ordinal);
    ASSERT_EQ(pushes_.size(), 1u);
    EXPECT_EQ(pushes_[0].to, alice.key);
    EXPECT_EQ(pushes_[0].type, store_event::kind::contended);
    EXPECT_EQ(tables_.entries(now_, alice.key, 9)->changes, 1u);
}

TEST_F(SqlTables, ASessionThatWaitsBehindItselfIsNotToldOfItself) {
    const auto alice = begin();
    const auto base = take(alice, 1).base;
    EXPECT_EQ(take(alice, 2).queue, 1u);
    EXPECT_TRUE(pushes_.empty());
    take(begin(), 1);
    take(begin(), 1);
    ASSERT_EQ(pushes_.size(), 1u) << "the first of another session";
    EXPECT_EQ(pushes_[0].type, store_event::kind::contended);
    EXPECT_TRUE(*tables_.pass_on(now_, alice, "door", 1, base, ++stamp_));
    ASSERT_EQ(pushes_.size(), 2u);
    EXPECT_EQ(pushes_[1].to, alice.key);
    EXPECT_EQ(pushes_[1].id, 2u);
    EXPECT_TRUE(pushes_[1].contended);
    EXPECT_EQ(tables_.entries(now_, alice.key, 9)->changes, 2u) << "no answer tells it";
}

TEST_F(SqlTables, PassingOnSkipsTheDeadAndTellsTheNext) {
    const auto alice = begin();
    const auto base = take(alice, 1).base;
    const auto bob = begin();
    const auto carol = begin();
    take(bob, 1);
    take(carol, 7);
    EXPECT_FALSE(tables_.end(bob));
    pushes_.clear();
    EXPECT_FALSE(*tables_.release(now_, alice, "door", 1, base, ++stamp_)) << "somebody waits";
    EXPECT_TRUE(*tables_.pass_on(now_, alice, "door", 1, base, ++stamp_));
    EXPECT_EQ(row().holder, carol.key);
    EXPECT_GT(row().base, base);
    ASSERT_EQ(pushes_.size(), 1u);
    EXPECT_EQ(pushes_[0].to, carol.key);
    EXPECT_EQ(pushes_[0].id, 7u);
    EXPECT_EQ(row().queue, 1u) << "the dead waiter is met later";
    EXPECT_FALSE(*tables_.pass_on(now_, carol, "door", 7, row().base, ++stamp_))
        << "only the dead wait: the general way frees the lock of them";
}

TEST_F(SqlTables, ShortWaysAreClosedWhileSomebodyWatchesAndInQuarantine) {
    const auto alice = begin();
    EXPECT_FALSE(tables_.watch(now_, alice));
    EXPECT_FALSE(take(alice, 1).apt);
    EXPECT_FALSE(tables_.end(alice));
    EXPECT_TRUE(take(begin(), 1).apt) << "who is dead watches no more";
    tables_.lose_unlogged(now_);
    const auto bob = begin();
    EXPECT_FALSE(take(bob, 1).apt);
    now_ += 999ms;
    EXPECT_TRUE(tables_.beat(now_, bob));
    now_ += 1ms;
    EXPECT_TRUE(take(bob, 1).granted);
}

TEST_F(SqlTables, AnOlderConnectionChangesNothing) {
    const auto old = begin();
    const auto base = take(old, 1).base;
    const auto fresh = begin(2, 1);
    EXPECT_EQ(fresh.key, old.key);
    EXPECT_FALSE(take(old, 2).apt);
    EXPECT_FALSE(*tables_.release(now_, old, "door", 1, base, ++stamp_));
    EXPECT_EQ(tables_.store(now_, same_again(old), 0).error(), errc::session_lost);
    EXPECT_EQ(tables_.load(now_, old, "door", 0).error(), errc::session_lost);
    EXPECT_TRUE(*tables_.release(now_, fresh, "door", 1, base, ++stamp_));
}

TEST_F(SqlTables, AChangeIsWrittenOnceAndOnlyOverWhatWasRead) {
    const auto alice = begin();
    take(alice, 1);
    auto change = same_again(alice);
    change.changes[alice.key] = 1;
    const auto late = same_again(alice);
    EXPECT_TRUE(*tables_.store(now_, change, 0));
    EXPECT_TRUE(*tables_.store(now_, change, 0)) << "a repeated message was done";
    EXPECT_EQ(tables_.entries(now_, alice.key, 9)->changes, 1u) << "and does nothing again";
    EXPECT_FALSE(*tables_.store(now_, late, 0));
}

TEST_F(SqlTables, AHeartbeatInTimePreventsTheMark) {
    const auto alice = begin();
    now_ += 999ms;
    EXPECT_FALSE(*tables_.mark_dead(now_, alice.key));
    EXPECT_TRUE(tables_.beat(now_, alice));
    now_ += 1s;
    EXPECT_TRUE(*tables_.mark_dead(now_, alice.key));
    EXPECT_EQ(tables_.beat(now_, alice).error(), errc::session_lost) << "marked for good";
    EXPECT_TRUE(*tables_.mark_dead(now_, 4'711)) << "who has no row is dead";
}

TEST_F(SqlTables, ARowLockKeepsOthersOutForALimitedTime) {
    const auto alice = begin();
    const auto bob = begin();
    EXPECT_TRUE(tables_.load(now_, alice, "door", 1));
    EXPECT_FALSE(take(bob, 1).apt);
    EXPECT_EQ(tables_.load(now_, bob, "door", 2).error(), errc::database_busy);
    EXPECT_TRUE(tables_.load(now_, bob, "door", 0)) << "reading waits for nobody";
    EXPECT_FALSE(*tables_.store(now_, same_again(bob), 2));
    EXPECT_TRUE(*tables_.store(now_, same_again(alice), 1));
    EXPECT_TRUE(take(bob, 1).apt) << "a write gives the row lock up";
    EXPECT_TRUE(tables_.load(now_, alice, "door", 1));
    now_ += sql_tables::row_lock_max;
    EXPECT_TRUE(*tables_.store(now_, same_again(bob), 2)) << "the client that has it was stopped";
}

TEST_F(SqlTables, TokensGrowOverDeletedRowsAndLostTables) {
    const auto alice = begin();
    auto change = same_again(alice);
    change.row.base = 2 * store_detail::clock_base(now_);  // As if the clock was set back.
    EXPECT_TRUE(*tables_.store(now_, change, 0));
    tables_.lose_unlogged(now_);
    now_ += 1s;
    const auto first = take(begin(), 1);
    EXPECT_TRUE(first.granted);
    EXPECT_GT(first.base, change.row.base);
}

TEST_F(SqlTables, RowsOfIdleLocksAreDeletedAfterAMinute) {
    auto alice = begin();
    const auto base = take(alice, 1).base;
    EXPECT_TRUE(*tables_.release(now_, alice, "door", 1, base, ++stamp_));
    EXPECT_TRUE(tables_.beat(now_, alice));
    EXPECT_NE(row().stamp, 0u);
    now_ += 1min;
    alice = begin();
    EXPECT_TRUE(tables_.beat(now_, alice));
    EXPECT_EQ(row().stamp, 0u);
    EXPECT_GT(take(alice, 2).base, base);
}

TEST_F(SqlTables, AWaiterThatLeavesIsTakenOutOrFindsItsGrant) {
    const auto alice = begin();
    const auto base = take(alice, 1).base;
    const auto bob = begin();
    const auto place = take(bob, 1).ordinal;
    const auto again = begin();
    const auto other = take(again, 1).ordinal;
    EXPECT_TRUE(tables_.withdraw(now_, bob, "door", 1, place, ++stamp_)->erased);
    EXPECT_EQ(row().queue, 1u);
    EXPECT_TRUE(*tables_.pass_on(now_, alice, "door", 1, base, ++stamp_));
    const auto left = *tables_.withdraw(now_, again, "door", 1, other, ++stamp_);
    EXPECT_FALSE(left.erased);
    EXPECT_TRUE(left.granted);
    EXPECT_EQ(left.base, row().base);
}

// Its rows of holders have the ordinals that they had as waiters.
TEST_F(SqlTables, AWaiterOfAMixedLockIsLeftToTheGeneralWay) {
    const auto alice = begin();
    take(alice, 1);
    const auto bob = begin();
    const auto place = take(bob, 1).ordinal;
    auto change = same_again(alice);
    change.row.holder = 0;
    change.row.rest = 1;
    change.writes = tables_.load(now_, {}, "door", 0)->entries;
    change.writes.at(0).granted = true;
    EXPECT_TRUE(*tables_.store(now_, change, 0));
    EXPECT_FALSE(tables_.withdraw(now_, bob, "door", 1, place, ++stamp_)->erased);
    EXPECT_FALSE(take(begin(), 1).apt);
    EXPECT_EQ(tables_.parties(), 1u);
}

}  // namespace
}  // namespace mortise::sql_model
