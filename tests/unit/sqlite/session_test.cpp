// SPDX-License-Identifier: BSL-1.0
// Sessions that end, expire and crash, at every point where a process can be killed.
#include "sqlite/query.hpp"
#include "store/sqlite/mailbox.hpp"
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test::sqlite_session_test {
namespace {

using namespace std::chrono_literals;
using sqlite_detail::side_folder;
using sqlite_detail::sqlite_db;
using sqlite_detail::whereabouts;
using store_detail::slot_file;

class SqliteSession : public testing::Test {
protected:
    std::unique_ptr<state_user> opened() {
        auto user = std::make_unique<state_user>(folder.config(), time);
        EXPECT_EQ(user->open(), error_code()) << user->state.explain();
        return user;
    }

    static std::string name_of(std::size_t lock) { return "lock " + std::to_string(lock); }

    // Lock n by request n, from 1 on.
    static void hold_many(state_user& user, std::size_t count) {
        for (std::size_t n = 1; n <= count; ++n)
            ASSERT_EQ(user.ask(name_of(n)).type, answer::kind::granted);
    }

    void reap(state_user& user) { ASSERT_EQ(user.state.reap({}).code, error_code()); }

    std::int64_t sessions() const { return folder.sql("SELECT count(*) FROM session"); }
    std::int64_t entries() const { return folder.sql("SELECT count(*) FROM entry"); }

    store_folder folder;
    still_clock time;
};

TEST_F(SqliteSession, EndLeavesNothing) {
    auto user = opened();
    EXPECT_EQ(user->ask("a").type, answer::kind::granted);
    EXPECT_EQ(folder.sockets(), 2u);
    EXPECT_EQ(user->state.end().code, error_code());
    EXPECT_EQ(sessions() + entries(), 0);
    EXPECT_EQ(folder.sockets(), 0u);
    EXPECT_EQ(std::filesystem::file_size(folder.database().string() + "-wal"), 0u)
        << "the last one out folds the log back";
    EXPECT_EQ(user->state.end().code, error_code()) << "ending twice is no error";
    EXPECT_EQ(user->ask("b").type, answer::kind::refused);
    EXPECT_EQ(user->asked(), errc::session_lost);
}

TEST_F(SqliteSession, AnExpiredSessionMayGoOnUntilSomebodyTakesOver) {
    auto user = opened();
    ASSERT_EQ(user->ask("a").type, answer::kind::granted);
    time.pass(state_user::ttl * 2);
    EXPECT_EQ(user->beat(), error_code()) << "nobody had a use for its death";
    time.pass(state_user::ttl * 2);
    auto other = opened();  // takes over: whoever opens reaps
    EXPECT_EQ(user->beat(), errc::session_lost);
    EXPECT_EQ(user->ask("b").type, answer::kind::refused);
    EXPECT_EQ(user->asked(), errc::session_lost);
    EXPECT_EQ(other->ask("a").type, answer::kind::granted);
    EXPECT_EQ(sessions(), 1);
}

TEST_F(SqliteSession, ReapingHandsOverInTheOrderOfTheQueue) {
    auto holder = opened();
    auto first = opened();
    auto second = opened();
    ASSERT_EQ(holder->ask("a").type, answer::kind::granted);
    ASSERT_EQ(first->ask("a").type, answer::kind::queued);
    ASSERT_EQ(second->ask("a").type, answer::kind::queued);
    time.pass(state_user::ttl);
    ASSERT_EQ(first->beat(), error_code());
    ASSERT_EQ(second->beat(), error_code());
    const auto out = first->state.reap({});
    ASSERT_EQ(out.notices.size(), 1u);
    EXPECT_EQ(out.notices[0].kind, store_event::kind::granted);
    EXPECT_EQ(out.notices[0].id, 1u);
    EXPECT_EQ(holder->beat(), errc::session_lost);
}

TEST_F(SqliteSession, WhoBuriesADeadOneIsRemindedOfTheGrantThatItMayNotHaveTold) {
    auto dead = opened();
    auto next = opened();
    const auto held = dead->ask("a");
    ASSERT_EQ(next->ask("a").type, answer::kind::queued);
    ASSERT_TRUE(dead->release("a", held.token));  // its hint is one that nobody reads
    dead->opened.session->kill();
    const auto out = next->state.reap({});
    ASSERT_EQ(out.notices.size(), 1u);
    EXPECT_EQ(out.notices[0].kind, store_event::kind::granted);
    EXPECT_EQ(out.notices[0].id, 1u);
    EXPECT_GT(out.notices[0].token, held.token.value);
    EXPECT_TRUE(next->state.reap({}).notices.empty()) << "nobody is buried twice";
}

TEST_F(SqliteSession, ADeadHolderIsFoundByWhoeverAsks) {
    auto holder = opened();
    auto other = opened();
    ASSERT_EQ(holder->ask("a").type, answer::kind::granted);
    holder->opened.session->kill();
    const auto got = other->ask("a");
    EXPECT_EQ(got.type, answer::kind::granted);
    EXPECT_EQ(sessions(), 2) << "its entry is gone, and the rest is for whoever reaps";
    reap(*other);
    EXPECT_EQ(sessions(), 1);
}

TEST_F(SqliteSession, ADeadOneWithManyLocksIsReapedInPortions) {
    constexpr std::size_t portion = store_detail::sqlite_state::reaped_at_once;
    auto dead = opened();
    auto first = opened();
    auto second = opened();
    hold_many(*dead, 2 * portion + 10);
    ASSERT_EQ(second->ask(name_of(2 * portion + 10)).type, answer::kind::queued);
    dead->opened.session->kill();
    const auto once = first->state.reap({});
    EXPECT_TRUE(once.value) << "more is left";
    EXPECT_EQ(entries(), std::int64_t(portion + 11));
    EXPECT_EQ(sessions(), 3) << "so the dead one shows to whoever comes";
    EXPECT_TRUE(first->opened.session->unburied());
    EXPECT_EQ(first->ask(name_of(2 * portion)).type, answer::kind::granted) << "met and freed";
    EXPECT_EQ(entries(), std::int64_t(portion + 11));
    // The reaper dies here, and another one goes on.
    EXPECT_TRUE(second->state.reap({}).value);
    EXPECT_EQ(second->take_notices(), "");
    const auto last = second->state.reap({});
    EXPECT_FALSE(last.value);
    ASSERT_FALSE(last.notices.empty());
    EXPECT_EQ(last.notices[0].kind, store_event::kind::granted) << "what it waited for";
    EXPECT_EQ(entries(), 2);
    EXPECT_EQ(sessions(), 2);
    EXPECT_EQ(folder.sockets(), 4u);
    EXPECT_FALSE(first->opened.session->unburied());
    EXPECT_EQ(first->opened.session->view().grants, 1u);
    EXPECT_EQ(second->opened.session->view().grants, 1u);
    EXPECT_EQ(second->opened.session->view().requests, 0u);
}

TEST_F(SqliteSession, EndingOrComingOrLookingLeavesNothingOfTheDeadHoweverMuchTheyHad) {
    constexpr std::size_t many = 3 * store_detail::sqlite_state::reaped_at_once;
    auto user = opened();
    hold_many(*user, many);
    EXPECT_EQ(user->state.end().code, error_code());
    EXPECT_EQ(sessions() + entries(), 0);
    ASSERT_EQ(user->open(), error_code());
    hold_many(*user, many);
    auto witness = opened();
    user->opened.session->kill();
    auto newcomer = opened();
    EXPECT_EQ(entries(), 0);
    hold_many(*newcomer, many);
    newcomer->opened.session->kill();
    EXPECT_TRUE(witness->state.list("", 1'000, 10).value.empty());
    EXPECT_EQ(entries(), 0);
    EXPECT_EQ(sessions(), 1);
}

// Killed between the swap to death and the transaction that frees.
TEST_F(SqliteSession, ADeadSlotWhoseRowsAreThereIsReapedByAnybody) {
    ASSERT_TRUE(in_dying_child([&] {
        state_user user(folder.config(), time);
        const bool good = !user.open() && user.ask("a").type == answer::kind::granted;
        user.opened.session->kill();
        return good;
    }));
    EXPECT_EQ(sessions(), 1);
    auto other = opened();
    EXPECT_EQ(sessions(), 1) << "only its own";
    EXPECT_EQ(other->ask("a").type, answer::kind::granted);
}

// Killed between the claim of the slot and the commit of the row.
TEST_F(SqliteSession, AClaimedSlotWithoutARowIsFreedAndHarmsNobody) {
    auto user = opened();
    ASSERT_EQ(user->ask("a").type, answer::kind::granted);
    auto& slots = user->opened.session->slots();
    const auto key = user->opened.session->key();
    slots.claim(7, key, 4711);       // the claim was rolled back, and the key was given again
    slots.claim(8, key + 50, 4712);  // or not yet
    reap(*user);
    EXPECT_EQ(slots.view(7).key, 0u);
    EXPECT_EQ(slots.view(8).key, 0u);
    EXPECT_EQ(user->beat(), error_code());
    EXPECT_EQ(entries(), 1);
}

// Killed between the commit of the row and the first deadline.
TEST_F(SqliteSession, ARowWhoseSlotNeverLivedIsReaped) {
    auto user = opened();
    auto& slots = user->opened.session->slots();
    slots.claim(9, 1'000, 4711);
    folder.sql("INSERT INTO session VALUES(1000, x'01', 1, 9, 4711, 0, '', '', 1000, 0)");
    reap(*user);
    EXPECT_EQ(sessions(), 1);
    EXPECT_EQ(slots.view(9).key, 0u);
}

// Killed inside of a transaction: the kernel frees its locks, SQLite forgets what was not
// committed.
TEST_F(SqliteSession, ACrashInsideATransactionIsUndone) {
    auto user = opened();
    ASSERT_EQ(user->ask("a").type, answer::kind::granted);
    ASSERT_TRUE(in_dying_child([&] {
        side_folder side(folder.database().string());
        sqlite_db db;
        side.lock();
        return db.open(folder.database().string()) && db.step("BEGIN IMMEDIATE") &&
               db.step("DELETE FROM entry") && db.step("UPDATE meta SET token_next = 1");
    }));
    EXPECT_EQ(entries(), 1);
    auto other = opened();
    EXPECT_EQ(other->ask("a").type, answer::kind::queued);
}

// Killed between the counts in the slots and the commit.
TEST_F(SqliteSession, LookingRepairsTheCounts) {
    auto user = opened();
    ASSERT_EQ(user->ask("a").type, answer::kind::granted);
    auto& slots = user->opened.session->slots();
    const auto slot = user->opened.session->self().slot;
    slots.add(slot, 3, 5, 1);
    const auto seen = user->state.look();
    ASSERT_EQ(seen.code, error_code());
    EXPECT_EQ(seen.value.changes, 1u);
    ASSERT_EQ(seen.value.entries.size(), 1u);
    EXPECT_EQ(slots.view(slot).grants, 1u);
    EXPECT_EQ(slots.view(slot).requests, 0u);
    EXPECT_EQ(slots.view(slot).changes, 1u) << "change numbers never go back";
}

// Killed between the commit and the datagram.
TEST_F(SqliteSession, AGrantWithoutADatagramShowsInTheChangeNumber) {
    auto holder = opened();
    auto waiter = opened();
    const auto held = holder->ask("a");
    ASSERT_EQ(waiter->ask("a").type, answer::kind::queued);
    const auto before = waiter->state.look().value.changes;
    ASSERT_TRUE(holder->release("a", held.token));
    EXPECT_EQ(waiter->opened.session->view().changes, before + 1);
    const auto seen = waiter->state.look().value;
    EXPECT_EQ(seen.changes, before + 1);
    ASSERT_EQ(seen.entries.size(), 1u);
    EXPECT_TRUE(seen.entries[0].granted);
    EXPECT_GT(seen.entries[0].token.value, held.token.value);
}

TEST_F(SqliteSession, AHintIsTrueOnlyIfTheRowSaysSo) {
    auto holder = opened();
    auto waiter = opened();
    ASSERT_EQ(holder->ask("a").type, answer::kind::granted);
    ASSERT_EQ(waiter->ask("a").type, answer::kind::queued);
    using store_detail::hint;
    const auto key = waiter->opened.session->key();
    const std::vector<hint> forged{
        {hint::kind::granted, key, 1},
        {hint::kind::contended, key, 1},
        {hint::kind::granted, key, 9}};
    EXPECT_TRUE(waiter->state.verify(forged).notices.empty());
    const auto looked = waiter->state.verify({{hint::kind::changed, key, 0}});
    ASSERT_EQ(looked.notices.size(), 1u);
    EXPECT_EQ(looked.notices[0].kind, store_event::kind::look_again);
    waiter->opened.session->kill();
    const auto lost = waiter->state.verify(forged);
    ASSERT_EQ(lost.notices.size(), 1u);
    EXPECT_EQ(lost.notices[0].kind, store_event::kind::session_lost);
}

TEST_F(SqliteSession, ALowerGenerationIsRefused) {
    auto user = opened();
    session_start start;
    start.id = user->opened.session->id();
    start.ttl = state_user::ttl;
    start.generation = 3;
    EXPECT_EQ(user->state.resume(start).code, error_code());
    EXPECT_EQ(folder.sql("SELECT generation FROM session"), 3);
    start.generation = 2;
    EXPECT_EQ(user->state.resume(start).code, errc::session_lost);
    folder.sql("UPDATE session SET generation = 4");  // somebody else resumed it
    EXPECT_EQ(user->ask("a").type, answer::kind::refused);
    EXPECT_EQ(user->asked(), errc::session_lost);
}

TEST_F(SqliteSession, WhatIsGoneIsNotResumed) {
    auto user = opened();
    session_start start;
    start.id = random_id::draw();
    start.ttl = state_user::ttl;
    start.generation = 2;
    EXPECT_EQ(user->state.resume(start).code, errc::session_lost) << "never seen";
    start.id = user->opened.session->id();
    user->opened.session->kill();
    EXPECT_EQ(user->state.resume(start).code, errc::session_lost);
    EXPECT_EQ(user->open(), error_code()) << "a new one can begin";
    EXPECT_EQ(sessions(), 1);
}

TEST_F(SqliteSession, ANewSessionOfTheSameStoreEndsTheOldOne) {
    auto user = opened();
    ASSERT_EQ(user->ask("a").type, answer::kind::granted);
    const auto old = user->opened.session;
    ASSERT_EQ(user->open(), error_code());
    EXPECT_FALSE(old->alive());
    EXPECT_EQ(entries(), 0);
    EXPECT_EQ(sessions(), 1);
}

TEST_F(SqliteSession, AbandoningFreesForWhoeverComes) {
    auto user = opened();
    ASSERT_EQ(user->ask("a").type, answer::kind::granted);
    auto other = opened();
    user->state.abandon();
    EXPECT_EQ(user->ask("b").type, answer::kind::refused);
    EXPECT_EQ(other->ask("a").type, answer::kind::granted);
    EXPECT_EQ(folder.sockets(), 2u);
    // A request that comes too late for a client that has gone does not stay either.
    EXPECT_EQ(user->open(), error_code());
    reap(*other);
    EXPECT_EQ(sessions(), 1);
}

TEST_F(SqliteSession, TheStoreHasRoomForSoMany) {
    auto user = opened();
    auto& slots = user->opened.session->slots();
    for (std::size_t i = 0; i < slot_file::capacity; ++i) {
        if (i == user->opened.session->self().slot)
            continue;
        slots.claim(i, 10'000 + i, i);
        slots.swap(i, slots.word(i), slots.word(i).next(~std::uint64_t{0}));
    }
    state_user late(folder.config(), time);
    EXPECT_EQ(late.open(), errc::too_many_sessions);
    EXPECT_NE(late.state.explain().find("4096"), std::string::npos) << late.state.explain();
    EXPECT_EQ(folder.sockets(), 2u) << "what it had made is removed";
    EXPECT_EQ(user->ask("a").type, answer::kind::granted);
}

TEST_F(SqliteSession, NobodyIsGrantedBeforeTheForgottenHaveExpired) {
    auto holder = opened();
    ASSERT_EQ(holder->ask("a").type, answer::kind::granted);
    std::filesystem::remove(folder.side() / "sessions");
    auto user = opened();
    EXPECT_EQ(holder->opened.session->where(), whereabouts::other);
    EXPECT_EQ(user->ask("a").type, answer::kind::queued) << "the old holder may not know yet";
    EXPECT_GT(user->state.quarantine_until(), time.now());
    time.pass(state_user::ttl / 2);
    ASSERT_EQ(user->beat(), error_code());
    EXPECT_TRUE(user->state.reap({}).notices.empty());
    time.pass(state_user::ttl / 2);
    ASSERT_EQ(user->beat(), error_code());
    const auto woken = user->state.reap({}).notices;
    ASSERT_EQ(woken.size(), 1u);
    EXPECT_EQ(woken[0].kind, store_event::kind::granted);
}

TEST_F(SqliteSession, ACopyInThePlaceOfTheDatabaseIsAnotherStore) {
    auto holder = opened();
    ASSERT_EQ(holder->ask("a").type, answer::kind::granted);
    folder.sql("VACUUM INTO '" + (folder.path() / "copy.db").string() + "'");
    std::filesystem::rename(folder.path() / "copy.db", folder.database());
    std::filesystem::remove(folder.database().string() + "-wal");
    std::filesystem::remove(folder.database().string() + "-shm");
    EXPECT_EQ(holder->opened.session->where(), whereabouts::other);
    auto user = opened();
    EXPECT_EQ(user->ask("a").type, answer::kind::queued);
    time.pass(state_user::ttl);
    ASSERT_EQ(user->beat(), error_code());
    EXPECT_EQ(user->ask("b").type, answer::kind::granted) << "the quarantine is over";
    ASSERT_EQ(holder->open(), error_code()) << "begins anew in the store that is there now";
    EXPECT_EQ(holder->ask("b").type, answer::kind::queued);
}

// As containers that have a boot id of their own.
TEST_F(SqliteSession, AnotherBootIsNoneWhileSomebodyOfTheOneBeforeLives) {
    auto holder = opened();
    EXPECT_EQ(holder->ask("a").type, answer::kind::granted);
    auto config = folder.config();
    config.boot_id_override = "another boot";
    state_user user(config, time);
    EXPECT_EQ(user.open(), errc::foreign_time_namespace);
    EXPECT_NE(user.state.explain().find("boot id"), std::string::npos) << user.state.explain();
    EXPECT_EQ(holder->beat(), error_code());
    holder->opened.sockets = sqlite_detail::session_sockets();
    EXPECT_EQ(user.open(), error_code()) << "its process is dead";
    EXPECT_EQ(user.ask("a").type, answer::kind::granted);
}

// Whoever has made the folder may fail after others have begun to use it.
TEST_F(SqliteSession, GoesOnIfTheFolderWasMadeInVainBySomebodyElse) {
    side_folder maker(folder.database().string());
    auto holder = opened();
    EXPECT_EQ(holder->ask("a").type, answer::kind::granted);
    maker.undo();
    EXPECT_EQ(holder->opened.session->where(), whereabouts::same) << "its heartbeats go on";
    auto other = opened();
    EXPECT_EQ(other->ask("a").type, answer::kind::queued);
}

TEST_F(SqliteSession, AForeignTimeNamespaceIsRefusedUnlessItsUsersAreProvedDead) {
    auto holder = opened();
    auto owner = store_detail::slot_file_owner();
    {
        store_detail::store_files files(folder.config());
        files.open(time.now());
        owner = files.owner();
    }
    owner.time_namespace += 1;
    side_folder side(folder.database().string());
    const auto nonce = holder->opened.session->self().nonce;
    const auto slots = slot_file::make(side, owner);
    slots->claim(0, holder->opened.session->key(), nonce);
    slots->swap(0, slots->word(0), slots->word(0).next(1));
    state_user user(folder.config(), time);
    EXPECT_EQ(user.open(), errc::foreign_time_namespace) << "its socket listens";
    EXPECT_FALSE(user.state.explain().empty());
    holder->opened.sockets = sqlite_detail::session_sockets();
    EXPECT_EQ(user.open(), error_code()) << "it listens no more: its process is dead";
}

TEST_F(SqliteSession, TheFirstToComeSweepsTheSocketsOfTheDead) {
    ASSERT_TRUE(in_dying_child([&] {
        state_user user(folder.config(), time);
        return !user.open();
    }));
    EXPECT_EQ(folder.sockets(), 2u);
    {
        auto other = opened();
        EXPECT_EQ(folder.sockets(), 4u) << "the dead one may live, as far as anybody knows";
        ASSERT_EQ(other->state.end().code, error_code());
    }
    time.pass(state_user::ttl);
    auto user = opened();
    EXPECT_EQ(folder.sockets(), 2u);
    EXPECT_EQ(sessions(), 1);
}

// Nobody was connected to it yet, so no connection can end.
TEST_F(SqliteSession, WhoDiesBeforeItIsWatchedIsSeenByWhoeverLooksWhomToWatch) {
    auto dead = opened();
    auto user = opened();
    EXPECT_FALSE(store_detail::plan_neighbours(*user->opened.session, {}).unburied);
    dead->state.abandon();
    const auto plan = store_detail::plan_neighbours(*user->opened.session, {});
    EXPECT_TRUE(plan.unburied);
    EXPECT_TRUE(plan.wanted.empty());
    reap(*user);
    EXPECT_FALSE(store_detail::plan_neighbours(*user->opened.session, {}).unburied);
    EXPECT_EQ(sessions(), 1);
}

TEST_F(SqliteSession, BreakIsWrittenDown) {
    auto holder = opened();
    auto other = opened();
    const auto held = holder->ask("a");
    EXPECT_TRUE(other->break_("a", held.token, "stuck"));
    EXPECT_EQ(folder.sql("SELECT count(*) FROM break_log WHERE why = 'stuck' AND name = x'61'"), 1);
    EXPECT_FALSE(other->break_("a", held.token, "again"));
    EXPECT_EQ(folder.sql("SELECT count(*) FROM break_log"), 1);
    EXPECT_EQ(holder->opened.session->view().changes, 1u);
}

TEST_F(SqliteSession, TheLastThousandBreaksAreKept) {
    auto user = opened();
    fencing_token last;
    for (int i = 0; i < 1'005; ++i) {
        last = user->ask("a").token;
        ASSERT_TRUE(user->break_("a", last, std::to_string(i)));
    }
    EXPECT_EQ(folder.sql("SELECT count(*) FROM break_log"), 1'000);
    const auto kept = user->state.breaks("a", 2'000).value;
    ASSERT_EQ(kept.size(), 1'000u);
    EXPECT_EQ(kept.front().why, "1004");
    EXPECT_EQ(kept.front().token, last);
    EXPECT_EQ(kept.back().why, "5");
}

TEST_F(SqliteSession, ARecordOfASharedTokenNamesTheFirstWhoHeldIt) {
    std::vector<std::unique_ptr<state_user>> readers;
    for (int i = 0; i < 10; ++i) {
        readers.push_back(opened());
        readers.back()->ask_for("a", lock_mode::shared());
    }
    const auto token = readers[0]->state.list("", 1, 0).value.at(0).holders.at(0).token;
    ASSERT_TRUE(readers[0]->break_("a", token, "stuck"));
    EXPECT_EQ(entries(), 0);
    const auto kept = readers[0]->state.breaks("", 10).value;
    ASSERT_EQ(kept.size(), 1u) << "one record for one order";
    EXPECT_TRUE(kept[0].holder.starts_with("host, process 42, unit; host, "));
    EXPECT_TRUE(kept[0].holder.ends_with("; and 2 more")) << kept[0].holder;
}

TEST_F(SqliteSession, ARefusedRequestLeavesDoneWhatItFoundToDo) {
    auto dead = opened();
    auto waiter = opened();
    dead->ask("a");
    waiter->ask_for("a", lock_mode::permits(2));
    auto other = opened();
    dead->opened.session->kill();
    other->ask_for("a", lock_mode::permits(3));
    EXPECT_EQ(other->asked(), errc::capacity_differs);
    EXPECT_EQ(folder.sql("SELECT slot FROM entry WHERE queued = 0"), 1) << "the waiter was granted";
    EXPECT_EQ(entries(), 1) << "that of the dead one is gone";
    reap(*other);
    EXPECT_EQ(sessions(), 2);
}

}  // namespace
}  // namespace mortise::test::sqlite_session_test
