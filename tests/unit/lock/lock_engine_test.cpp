// SPDX-License-Identifier: BSL-1.0
#include "core/lock_engine.hpp"
#include "unit/lock/engine_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace mortise::core::lock_engine_test {
namespace {

using test::engine_world;
using testing::ElementsAre;
using testing::IsEmpty;
using kind = answer::kind;

TEST(LockEngine, GrantsAFreeLockAtOnce) {
    engine_world world;
    const auto a = world.open();
    const answer reply = world.ask(a, 1, "x");
    EXPECT_EQ(reply.type, kind::granted);
    EXPECT_EQ(reply.token.value, world.token("x"));
    EXPECT_FALSE(reply.contended);
    EXPECT_TRUE(reply.token.domain.empty()) << "the store adds its domain";
    EXPECT_THAT(world.notices(), ElementsAre("granted 1.1 x"));
    EXPECT_EQ(world.holder("x")->since, world.rows.now);
}

TEST(LockEngine, MakesTokensOfABaseAndAnEmptySequence) {
    engine_world world;
    world.rows.last_base = 41;
    const auto reply = world.ask(world.open(), 1, "x");
    EXPECT_EQ(reply.token.base(), 42u);
    EXPECT_EQ(reply.token.value, 42u << fencing_token::sequence_bits);
}

TEST(LockEngine, DrawsEveryTokenThatThereIsBelowTwoToThe63) {
    engine_world world;
    world.rows.last_base = fencing_token::base_end - 2;
    const auto reply = world.ask(world.open(), 1, "x");
    EXPECT_EQ(reply.token.base(), fencing_token::base_end - 1);
    EXPECT_EQ(reply.token.value >> 63, 0u);
}

TEST(LockEngine, QueuesInTheOrderOfArrivalAndGrantsInIt) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    EXPECT_EQ(world.ask(b, 1, "x").type, kind::queued);
    EXPECT_EQ(world.ask(a, 2, "x").type, kind::queued);
    EXPECT_EQ(world.ask(b, 2, "x").type, kind::queued);
    EXPECT_EQ(world.line("x"), "[1.1] 2.1 1.2 2.2");

    world.release(a, 1);
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.1 x !"));
    world.release(b, 1);
    EXPECT_THAT(world.notices(), ElementsAre("granted 1.2 x !"));
    world.release(a, 2);
    EXPECT_EQ(world.line("x"), "[2.2]");
    world.release(b, 2);
    EXPECT_EQ(world.line("x"), "");
}

TEST(LockEngine, TellsAWaiterItsPosition) {
    engine_world world;
    const auto a = world.open();
    world.ask(a, 1, "x");
    const auto second = world.ask(a, 2, "x");
    EXPECT_EQ(second.position, 1u);
    const auto third = world.ask(a, 3, "x");
    EXPECT_EQ(third.position, 2u);
}

TEST(LockEngine, NeverTellsAPositionThatIsTooLow) {
    engine_world world;
    const auto a = world.open();
    for (request_id id = 1; id <= 5; ++id)
        world.ask(a, id, "x");
    world.withdraw(a, 3);
    EXPECT_GE(world.ask(a, 5, "x").position, 3u);
    world.release(a, 1);
    EXPECT_GE(world.ask(a, 5, "x").position, 2u);
    world.release(a, 2);
    EXPECT_EQ(world.line("x"), "[1.4] 1.5");
    EXPECT_EQ(world.ask(a, 5, "x").position, 1u);
}

TEST(LockEngine, KeepsLocksOfOtherNamesApart) {
    engine_world world;
    const auto a = world.open();
    const std::string with_zero("x\0y", 3);
    EXPECT_EQ(world.ask(a, 1, "x").type, kind::granted);
    EXPECT_EQ(world.ask(a, 2, "X").type, kind::granted);
    EXPECT_EQ(world.ask(a, 3, with_zero).type, kind::granted);
    EXPECT_EQ(world.ask(a, 4, "x").type, kind::queued);
}

TEST(LockEngine, ATryThatIsRefusedLeavesNothing) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    EXPECT_EQ(world.ask(b, 1, "x", false).type, kind::refused);
    EXPECT_EQ(world.line("x"), "[1.1]");
    EXPECT_THAT(world.notices(), ElementsAre("contended 1.1 x"));
    EXPECT_EQ(world.rows.sessions[b].changes, 0u);
    world.release(a, 1);
    EXPECT_EQ(world.line("x"), "");
    EXPECT_EQ(world.ask(b, 2, "x", false).type, kind::granted);
}

TEST(LockEngine, ARepeatedRequestGetsTheSameAnswer) {
    engine_world world;
    const auto a = world.open();
    const auto first = world.ask(a, 1, "x");
    const auto again = world.ask(a, 1, "x");
    EXPECT_EQ(again.type, kind::granted);
    EXPECT_EQ(again.token, first.token);
    EXPECT_THAT(world.notices(), IsEmpty());

    world.ask(a, 2, "x");
    EXPECT_EQ(world.ask(a, 2, "x").type, kind::queued);
    EXPECT_EQ(world.line("x"), "[1.1] 1.2");
}

TEST(LockEngine, ARepeatedRequestOfATryThatWasQueuedBeforeStaysQueued) {
    engine_world world;
    const auto a = world.open();
    world.ask(a, 1, "x");
    world.ask(a, 2, "x");
    EXPECT_EQ(world.ask(a, 2, "x", false).type, kind::queued);
    EXPECT_EQ(world.line("x"), "[1.1] 1.2");
}

TEST(LockEngine, ARepeatedRequestMayGetABetterAnswerByNow) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    world.ask(b, 1, "x");
    world.expire(a);
    EXPECT_EQ(world.ask(b, 1, "x").type, kind::granted);
}

TEST(LockEngine, TheSameIdOfTwoSessionsIsTwoRequests) {
    engine_world world;
    world.ask(world.open(), 1, "x");
    world.ask(world.open(), 1, "x");
    EXPECT_EQ(world.line("x"), "[1.1] 2.1");
}

TEST(LockEngine, WithdrawsWhatIsQueuedWhatIsGrantedAndWhatNeverCame) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    world.ask(b, 1, "x");
    world.ask(a, 2, "x");
    EXPECT_TRUE(world.withdraw(b, 1));
    EXPECT_EQ(world.line("x"), "[1.1] 1.2");
    EXPECT_TRUE(world.withdraw(a, 1));
    EXPECT_THAT(world.notices(), ElementsAre("granted 1.2 x"));
    EXPECT_FALSE(world.withdraw(a, 1));
    EXPECT_FALSE(world.withdraw(b, 77));
    EXPECT_THAT(world.notices(), IsEmpty());
    EXPECT_EQ(world.line("x"), "[1.2]");
}

TEST(LockEngine, ReleaseComparesSessionIdAndToken) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto token = world.ask(a, 1, "x").token.value;
    world.ask(b, 1, "x");
    EXPECT_FALSE(world.release(b, 1, token)) << "another session, which only waits";
    EXPECT_FALSE(world.release(a, 2, token)) << "another id";
    EXPECT_FALSE(world.release(a, 1, token + 1)) << "another token";
    EXPECT_FALSE(world.release(b, 1, 0)) << "a waiter has no token to show";
    EXPECT_EQ(world.line("x"), "[1.1] 2.1");
    EXPECT_TRUE(world.release(a, 1, token));
    EXPECT_FALSE(world.release(a, 1, token)) << "twice";
    EXPECT_EQ(world.line("x"), "[2.1]");
}

TEST(LockEngine, BreaksTheGrantOfThatTokenOnlyAndTellsItsHolder) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto token = world.ask(a, 7, "x").token.value;
    world.ask(b, 8, "x");
    EXPECT_EQ(world.break_grants("x", token - 1), 0u);
    EXPECT_EQ(world.break_grants("y", token), 0u);
    EXPECT_EQ(world.break_grants("x", 0), 0u) << "a waiter cannot be broken";
    EXPECT_EQ(world.break_grants("x", token), 1u);
    EXPECT_THAT(world.notices(), ElementsAre("look_again 1.7 x", "granted 2.8 x"));
    EXPECT_EQ(world.break_grants("x", token), 0u) << "the lock has passed on";
    EXPECT_EQ(world.line("x"), "[2.8]");
}

TEST(LockEngine, OnlyTheFirstWhoWaitsTellsTheHolder) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto token = world.ask(a, 1, "x").token.value;
    world.ask(b, 1, "x");
    EXPECT_THAT(world.notices(), ElementsAre("contended 1.1 x"));
    EXPECT_EQ(world.effects[0].token, token);
    world.ask(b, 2, "x");
    EXPECT_THAT(world.notices(), IsEmpty());
    world.ask(b, 1, "x");
    EXPECT_THAT(world.notices(), IsEmpty()) << "asking again is no news";
}

TEST(LockEngine, CountsAsAChangeWhatNoAnswerTells) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto changes = [&](session_key of) { return world.rows.sessions[of].changes; };
    world.ask(a, 1, "x");
    world.ask(a, 2, "x");
    world.release(a, 1);  // which grants 1.2 to the same session
    EXPECT_EQ(changes(a), 1u) << "only a push tells it, and a push may be lost";
    world.ask(b, 1, "x");
    EXPECT_EQ(changes(b), 0u);
    EXPECT_EQ(changes(a), 2u) << "somebody waits for what it holds";
    world.release(a, 2);
    EXPECT_EQ(changes(b), 1u) << "granted by the release of another";
    world.break_grants("x", world.token("x"));
    EXPECT_EQ(changes(b), 2u);
    EXPECT_EQ(changes(a), 2u);
}

TEST(LockEngine, GrantsNothingInAQuarantineAndEverythingAfterIt) {
    using namespace std::chrono_literals;
    engine_world world;
    const auto a = world.open();
    world.rows.quarantine_until = world.rows.now + 5s;
    EXPECT_EQ(world.ask(a, 1, "x").type, kind::queued);
    EXPECT_EQ(world.ask(a, 2, "x").type, kind::queued);
    EXPECT_EQ(world.ask(a, 3, "y", false).type, kind::refused);
    EXPECT_TRUE(world.withdraw(a, 1));
    world.advance("x");
    EXPECT_EQ(world.line("x"), "1.2");
    world.rows.now += 5s;
    world.advance("x");
    EXPECT_THAT(world.notices(), ElementsAre("granted 1.2 x"));
    world.advance("x");
    world.advance("y");
    EXPECT_THAT(world.notices(), IsEmpty());
}

}  // namespace
}  // namespace mortise::core::lock_engine_test
