// SPDX-License-Identifier: BSL-1.0
// Grants that end by themselves: the sessions that find them, at each crash.
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace mortise::test::sqlite_ends_test {
namespace {

using namespace std::chrono_literals;

constexpr lock_mode exclusive = lock_mode::exclusive();

class SqliteEnds : public testing::Test {
protected:
    std::unique_ptr<state_user> opened() {
        auto user = std::make_unique<state_user>(folder.config(), time);
        EXPECT_EQ(user->open(), error_code()) << user->state.explain();
        return user;
    }

    static clock::time_point ends(const state_user& user) {
        return user.opened.session->view().ends;
    }

    static store_detail::slot_scan scan(const state_user& user, const still_clock& at) {
        return user.opened.session->scan(at.now());
    }

    store_folder folder;
    still_clock time;
};

TEST_F(SqliteEnds, TheSlotSaysWhenTheFirstOfItsGrantsEnds) {
    auto user = opened();
    const auto start = time.now();
    user->ask("a");
    EXPECT_EQ(ends(*user), clock::time_point()) << "it has no end of its own";
    user->ask_for("b", exclusive, 500ms);
    EXPECT_EQ(ends(*user), start + 500ms);
    const auto sooner = user->ask_for("c", exclusive, 200ms);
    EXPECT_EQ(ends(*user), start + 200ms);
    user->ask_for("d", exclusive, 300ms);
    EXPECT_EQ(ends(*user), start + 200ms);
    EXPECT_TRUE(user->release("c", sooner.token, 3));
    EXPECT_EQ(ends(*user), start + 300ms);
}

TEST_F(SqliteEnds, AWishHasNoEndAndAGrantByAnotherHasOne) {
    auto holder = opened();
    auto waiter = opened();
    const auto held = holder->ask("a");
    waiter->ask_for("a", exclusive, 500ms);
    EXPECT_EQ(ends(*waiter), clock::time_point());
    time.pass(100ms);
    EXPECT_TRUE(holder->release("a", held.token));
    EXPECT_EQ(ends(*waiter), time.now() + 500ms);
}

TEST_F(SqliteEnds, AHeartbeatSeesTheEndsOfOthersWithoutATransaction) {
    auto holder = opened();
    auto waiter = opened();
    holder->ask_for("a", exclusive, 200ms);
    waiter->ask("a");
    EXPECT_EQ(scan(*waiter, time).next_deadline, 200ms);
    EXPECT_EQ(scan(*holder, time).next_deadline, state_user::ttl) << "its own are no news";
    EXPECT_FALSE(scan(*waiter, time).to_reap);
    time.pass(200ms);
    EXPECT_TRUE(scan(*waiter, time).to_reap);
    EXPECT_TRUE(scan(*holder, time).to_reap) << "somebody else may wait";
    const auto reaped = waiter->state.reap({});
    ASSERT_EQ(reaped.code, error_code());
    ASSERT_EQ(reaped.notices.size(), 1u);
    EXPECT_EQ(reaped.notices[0].kind, store_event::kind::granted);
    EXPECT_FALSE(scan(*waiter, time).to_reap);
    EXPECT_EQ(ends(*holder), clock::time_point());
    EXPECT_TRUE(holder->opened.session->alive());
    EXPECT_TRUE(holder->state.look().value.entries.empty());
}

// Killed between the slot and the commit.
TEST_F(SqliteEnds, AnEndThatIsNoneIsPutRight) {
    auto user = opened();
    auto other = opened();
    const auto start = time.now();
    user->ask_for("a", exclusive, 500ms);
    auto& slots = user->opened.session->slots();
    slots.set_ends(user->opened.session->self().slot, start + 1ms);
    slots.set_ends(other->opened.session->self().slot, start + 1ms);
    time.pass(1ms);
    ASSERT_EQ(other->state.reap({}).code, error_code());
    EXPECT_EQ(ends(*user), start + 500ms);
    EXPECT_EQ(ends(*other), clock::time_point());
    EXPECT_EQ(folder.sql("SELECT count(*) FROM entry"), 1) << "nothing ended";
}

TEST_F(SqliteEnds, WhoeverAsksForTheLockFindsIt) {
    auto holder = opened();
    auto other = opened();
    const auto held = holder->ask_for("a", exclusive, 200ms);
    EXPECT_EQ(other->ask("a", false).type, answer::kind::refused);
    time.pass(200ms);
    const auto got = other->ask("a", false);
    EXPECT_EQ(got.type, answer::kind::granted);
    EXPECT_GT(got.token.value, held.token.value);
    EXPECT_EQ(ends(*holder), clock::time_point());
    EXPECT_FALSE(holder->release("a", held.token));
}

TEST_F(SqliteEnds, AnEndOutlivesTheDeathOfItsProcess) {
    ASSERT_TRUE(in_dying_child([&] {
        state_user user(folder.config(), time);
        return !user.open() && user.ask_for("a", exclusive, 200ms).type == answer::kind::granted;
    }));
    auto other = opened();
    EXPECT_EQ(other->ask("a").type, answer::kind::queued);
    EXPECT_EQ(scan(*other, time).next_deadline, 200ms);
    time.pass(200ms);
    const auto reaped = other->state.reap({});
    ASSERT_EQ(reaped.notices.size(), 1u);
    EXPECT_EQ(reaped.notices[0].kind, store_event::kind::granted);
}

}  // namespace
}  // namespace mortise::test::sqlite_ends_test
