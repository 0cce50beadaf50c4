// SPDX-License-Identifier: BSL-1.0
// Who learns that others wait for what it holds; and grants that end by themselves.
#include "core/lock_engine.hpp"
#include "unit/lock/engine_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace mortise::core::lock_engine_contended_test {
namespace {

using namespace std::chrono_literals;
using test::engine_world;
using testing::ElementsAre;
using testing::IsEmpty;
using kind = answer::kind;

constexpr lock_mode shared = lock_mode::shared();

TEST(LockEngineContended, OneWhoMustWaitTellsEveryHolderOfOtherSessionsOnce) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto c = world.open();
    world.ask_for(a, 1, "x", shared);
    world.ask_for(b, 1, "x", shared);
    world.ask_for(c, 1, "x", shared);
    world.ask(c, 2, "x");
    EXPECT_THAT(world.notices(), ElementsAre("contended 1.1 x", "contended 2.1 x"));
    EXPECT_EQ(world.rows.sessions[a].changes, 1u) << "a lost push is found by this";
    EXPECT_EQ(world.rows.sessions[c].changes, 0u);
    world.ask(a, 2, "x");
    EXPECT_THAT(world.notices(), ElementsAre("contended 3.1 x")) << "the only one not told yet";
    world.ask(b, 2, "x");
    EXPECT_THAT(world.notices(), IsEmpty());
}

TEST(LockEngineContended, ASessionIsNotToldOfItsOwnWaiters) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    EXPECT_FALSE(world.ask(a, 2, "x").contended);
    EXPECT_THAT(world.notices(), IsEmpty());
    EXPECT_FALSE(world.ask(a, 1, "x").contended);
    world.ask(b, 1, "x");
    EXPECT_THAT(world.notices(), ElementsAre("contended 1.1 x"))
        << "though somebody waited before it";
    EXPECT_TRUE(world.ask(a, 1, "x").contended) << "the holder asks again";
}

TEST(LockEngineContended, OneWhoTriesInVainTellsToo) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto c = world.open();
    world.ask(a, 1, "x");
    EXPECT_EQ(world.ask(b, 1, "x", false).type, kind::refused);
    EXPECT_THAT(world.notices(), ElementsAre("contended 1.1 x"));
    EXPECT_EQ(world.ask(b, 2, "x", false).type, kind::refused);
    EXPECT_THAT(world.notices(), ElementsAre("contended 1.1 x")) << "nobody waits who told it";
    EXPECT_EQ(world.ask(a, 2, "x", false).type, kind::refused);
    EXPECT_THAT(world.notices(), IsEmpty()) << "its own try";
    world.ask(b, 3, "x");
    world.ask(c, 1, "x", false);
    EXPECT_THAT(world.notices(), IsEmpty()) << "it knows already";
}

TEST(LockEngineContended, AReaderWhoMustWaitBehindAWriterTellsNobodyTwice) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto c = world.open();
    world.ask_for(a, 1, "x", shared);
    world.ask(b, 1, "x");
    EXPECT_THAT(world.notices(), ElementsAre("contended 1.1 x"));
    world.ask_for(c, 1, "x", shared);
    EXPECT_THAT(world.notices(), IsEmpty());
}

TEST(LockEngineContended, AGrantSaysWhetherOthersWait) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    EXPECT_FALSE(world.ask(a, 1, "x").contended);
    world.ask(b, 1, "x");
    world.ask(b, 2, "x");
    world.ask(a, 2, "x");
    world.release(a, 1);
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.1 x !"));
    world.release(b, 1);
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.2 x !"));
    world.release(b, 2);
    EXPECT_THAT(world.notices(), ElementsAre("granted 1.2 x"));
}

TEST(LockEngineContended, WhoGetsItBeforeOneThatCannotBeReachedIsTold) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.set_unreachable(a, true);
    EXPECT_EQ(world.ask(a, 1, "x").type, kind::queued);
    const auto reply = world.ask(b, 1, "x");
    EXPECT_EQ(reply.type, kind::granted);
    EXPECT_TRUE(reply.contended);
}

TEST(LockEngineContended, OneWhoWaitsLearnsWhetherOthersDo) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    EXPECT_FALSE(world.ask(a, 2, "x").contended);
    EXPECT_TRUE(world.ask(b, 1, "x").contended);
    EXPECT_TRUE(world.ask(a, 2, "x").contended);
}

TEST(LockEngineHold, AGrantEndsByItselfAndTheQueueAdvances) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask_for(a, 1, "x", lock_mode::exclusive(), true, 5s);
    world.ask(b, 1, "x");
    world.rows.now += 5s - 1ns;
    world.expire_grants();
    EXPECT_EQ(world.line("x"), "[1.1] 2.1");
    world.rows.now += 1ns;
    const auto changes = world.rows.sessions[a].changes;
    world.expire_grants();
    EXPECT_THAT(world.notices(), ElementsAre("look_again 1.1 x", "granted 2.1 x"));
    EXPECT_EQ(world.rows.sessions[a].changes, changes + 1);
    EXPECT_TRUE(world.rows.sessions.contains(a)) << "the session lives";
    world.expire_grants();
    EXPECT_THAT(world.notices(), IsEmpty());
}

TEST(LockEngineHold, CountsFromTheGrantAndNotFromTheWish) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    world.ask_for(b, 1, "x", lock_mode::exclusive(), true, 5s);
    world.rows.now += 10s;
    world.expire_grants();
    EXPECT_EQ(world.line("x"), "[1.1] 2.1") << "a wish does not end";
    world.release(a, 1);
    world.rows.now += 4s;
    world.expire_grants();
    EXPECT_EQ(world.line("x"), "[2.1]");
    world.rows.now += 1s;
    world.expire_grants();
    EXPECT_EQ(world.line("x"), "");
}

TEST(LockEngineHold, ARequestThatMeetsAnEndedGrantTakesItsPlace) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask_for(a, 1, "x", lock_mode::exclusive(), true, 5s);
    world.rows.now += 5s;
    EXPECT_EQ(world.ask(b, 1, "x", false).type, kind::granted);
    EXPECT_THAT(world.notices(), ElementsAre("look_again 1.1 x", "granted 2.1 x"));
}

TEST(LockEngineHold, AnEndedPermitIsFoundAmongTheOthers) {
    engine_world world;
    const auto a = world.open();
    const lock_mode three = lock_mode::permits(3);
    world.ask_for(a, 1, "x", three);
    world.ask_for(a, 2, "x", three, true, 5s);
    world.ask_for(a, 3, "x", three);
    world.rows.now += 5s;
    EXPECT_EQ(world.ask_for(world.open(), 1, "x", three, false).slot, 2u);
}

TEST(LockEngineHold, OneReaderOfSeveralEndsAndThePhaseGoesOn) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto token = world.ask_for(a, 1, "x", shared, true, 5s).token.value;
    world.ask_for(b, 1, "x", shared);
    world.rows.now += 5s;
    world.expire_grants();
    EXPECT_THAT(world.notices(), ElementsAre("look_again 1.1 x"));
    EXPECT_EQ(world.ask_for(a, 2, "x", shared).token.value, token);
}

TEST(LockEngineHold, DrawsNothingAfterItsEnd) {
    engine_world world;
    const auto a = world.open();
    const auto token = world.ask_for(a, 1, "x", lock_mode::exclusive(), true, 5s).token.value;
    EXPECT_TRUE(world.draw(a, 1, token, 8));
    world.rows.now += 5s;
    EXPECT_EQ(world.draw(a, 1, token, 8).error(), errc::lease_lost);
}

TEST(LockEngineHold, TheLongestTimesDoNotOverflow) {
    engine_world world;
    const auto a = world.open();
    const auto longest = std::chrono::milliseconds::max() - 1ms;
    world.ask_for(a, 1, "x", lock_mode::exclusive(), true, longest);
    world.expire_grants();
    EXPECT_EQ(world.line("x"), "[1.1]");
}

}  // namespace
}  // namespace mortise::core::lock_engine_contended_test
