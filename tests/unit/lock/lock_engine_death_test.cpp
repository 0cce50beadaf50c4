// SPDX-License-Identifier: BSL-1.0
// What the lock engine does about sessions that it meets and that are gone, or that cannot be
// reached.
#include "core/lock_engine.hpp"
#include "unit/lock/engine_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::core::lock_engine_death_test {
namespace {

using test::engine_world;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using kind = answer::kind;

TEST(LockEngineDeath, PassesOverWhoCannotBeReachedAndKeepsItsPlace) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto c = world.open();
    world.ask(a, 1, "x");
    world.ask(b, 1, "x");
    world.ask(c, 1, "x");
    world.set_unreachable(b, true);
    world.release(a, 1);
    EXPECT_EQ(world.line("x"), "[3.1] 2.1");
    world.ask(a, 2, "x");
    world.set_unreachable(b, false);
    world.release(c, 1);
    EXPECT_EQ(world.line("x"), "[2.1] 1.2") << "it stood before the other one";
}

TEST(LockEngineDeath, LeavesALockFreeWhileNobodyWhoWaitsCanBeReached) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    world.ask(b, 1, "x");
    world.set_unreachable(b, true);
    world.release(a, 1);
    EXPECT_EQ(world.line("x"), "2.1");
    EXPECT_EQ(world.ask(a, 2, "x", false).type, kind::granted) << "a try finds it free";
    world.release(a, 2);
    world.set_unreachable(b, false);
    world.advance("x");
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.1 x"));
}

TEST(LockEngineDeath, AHolderWhoCannotBeReachedStillHolds) {
    engine_world world;
    const auto a = world.open();
    world.ask(a, 1, "x");
    world.set_unreachable(a, true);
    EXPECT_EQ(world.ask(world.open(), 1, "x").type, kind::queued);
}

TEST(LockEngineDeath, EndFreesAndWithdrawsAndForgetsEverything) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    world.ask(a, 2, "y");
    world.ask(b, 1, "x");
    world.ask(b, 2, "y");
    world.ask(b, 3, "z");
    world.ask(a, 3, "z");
    world.end(a);
    EXPECT_THAT(world.notices(), UnorderedElementsAre("granted 2.1 x", "granted 2.2 y"));
    EXPECT_EQ(world.line("z"), "[2.3]");
    EXPECT_FALSE(world.rows.sessions.contains(a));
    EXPECT_EQ(world.rows.sessions[b].changes, 3u) << "two grants, and somebody who waited for z";
    world.end(a);
    EXPECT_THAT(world.notices(), IsEmpty());
}

// A session that ends of its own will is alive until its end.
TEST(LockEngineDeath, EndGrantsNothingToTheSessionThatEnds) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 5, "x");
    world.ask(a, 6, "x");
    world.ask(a, 7, "x");
    world.ask(b, 1, "x");
    const auto base = world.rows.last_base;
    world.end(a);
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.1 x"));
    EXPECT_EQ(world.rows.last_base, base + 1) << "one token for one grant";
}

TEST(LockEngineDeath, ADeadHolderIsRemovedOnTheWayAndItsOtherLocksStay) {
    engine_world world;
    const auto dead = world.open();
    const auto b = world.open();
    world.ask(dead, 1, "x");
    world.ask(dead, 2, "y");
    world.ask(b, 1, "y");
    world.expire(dead);
    EXPECT_EQ(world.ask(b, 2, "x").type, kind::granted);
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.2 x"));
    EXPECT_EQ(world.line("y"), "[1.2] 2.1") << "another lock";
    EXPECT_EQ(world.rows.presence_of(dead), presence::gone);
    world.end(dead);
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.1 y"));
    EXPECT_TRUE(world.rows.dead.empty());
}

TEST(LockEngineDeath, BuriesADeadWaiterOnTheWay) {
    engine_world world;
    const auto a = world.open();
    const auto dead = world.open();
    const auto c = world.open();
    world.ask(a, 1, "x");
    world.ask(dead, 1, "x");
    world.ask(dead, 2, "y");
    world.ask(c, 1, "x");
    world.ask(c, 2, "y");
    world.expire(dead);
    world.release(a, 1);
    EXPECT_EQ(world.line("x"), "[3.1]");
    EXPECT_EQ(world.line("y"), "[2.2] 3.2");
    EXPECT_EQ(world.ask(c, 2, "y").type, kind::granted) << "whoever asks again meets it there";
    world.end(dead);
    EXPECT_THAT(world.notices(), IsEmpty()) << "nothing was left";
}

TEST(LockEngineDeath, FindsTheDeadBehindTheDead) {
    engine_world world;
    const auto first = world.open();
    const auto second = world.open();
    const auto third = world.open();
    const auto living = world.open();
    world.ask(first, 1, "a");
    world.ask(second, 1, "a");
    world.ask(third, 1, "a");
    world.ask(third, 2, "b");
    world.ask(living, 1, "b");
    for (const auto each : {first, second, third})
        world.expire(each);
    EXPECT_EQ(world.ask(living, 2, "a").type, kind::granted);
    EXPECT_EQ(world.line("a"), "[4.2]");
    EXPECT_EQ(world.line("b"), "[3.2] 4.1");
    EXPECT_EQ(world.rows.sessions.size(), 1u);
    EXPECT_EQ(world.rows.dead.size(), 3u);
}

// As the store does for all locks at the end of a quarantine.
TEST(LockEngineDeath, AdvanceRemovesTheDeadOfThatLock) {
    engine_world world;
    const auto dead = world.open();
    const auto b = world.open();
    world.ask(dead, 1, "x");
    world.ask(dead, 2, "y");
    world.ask(b, 1, "x");
    world.ask(b, 2, "y");
    world.expire(dead);
    world.advance("x");
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.1 x"));
    world.advance("y");
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.2 y"));
}

TEST(LockEngineDeath, ASessionThatDiedAsksInVain) {
    engine_world world;
    const auto dead = world.open();
    const auto b = world.open();
    world.ask(b, 1, "x");
    world.ask(dead, 1, "x");
    world.expire(dead);
    EXPECT_EQ(world.ask(dead, 2, "y").type, kind::refused);
    EXPECT_EQ(world.line("y"), "");
    EXPECT_EQ(world.line("x"), "[2.1] 1.1") << "another lock";
    world.end(dead);
    EXPECT_EQ(world.line("x"), "[2.1]");
}

}  // namespace
}  // namespace mortise::core::lock_engine_death_test
