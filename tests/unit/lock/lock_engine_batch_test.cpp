// SPDX-License-Identifier: BSL-1.0
// Several operations of one session in one transaction, and the messages when all are done.
#include "core/lock_engine.hpp"
#include "unit/lock/engine_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mortise::core::lock_engine_batch_test {
namespace {

using test::engine_world;
using testing::ElementsAre;
using kind = answer::kind;

lock_request wish_for(request_id id, const std::string& name, bool queue = true) {
    lock_request wish;
    wish.id = id;
    wish.name = name;
    wish.queue = queue;
    return wish;
}

TEST(LockEngineBatch, AGrantSaysThatItsGiverStandsInTheQueueAgain) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    world.ask(b, 1, "x");
    const auto token = world.token("x");
    world.together([&](lock_engine& engine) {
        EXPECT_TRUE(engine.release(a, {"x", 1, token, 0}));
        EXPECT_EQ(engine.request(a, wish_for(2, "x"))->type, kind::queued);
    });
    EXPECT_EQ(world.line("x"), "[2.1] 1.2");
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.1 x !"))
        << "once, with all there is to say";
    EXPECT_EQ(world.rows.sessions[b].changes, 1u) << "one push, which may be lost, says both";
}

TEST(LockEngineBatch, OneWhoTriesInVainIsToldWithTheGrant) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    world.ask(b, 1, "x");
    const auto token = world.token("x");
    world.together([&](lock_engine& engine) {
        engine.release(a, {"x", 1, token, 0});
        EXPECT_EQ(engine.request(a, wish_for(2, "x", false))->type, kind::refused);
    });
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.1 x !"));
}

TEST(LockEngineBatch, WhatIsGrantedAndWithdrawnAgainIsNotTold) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    world.ask(a, 2, "x");
    world.ask(b, 1, "x");
    const auto token = world.token("x");
    world.together([&](lock_engine& engine) {
        EXPECT_TRUE(engine.release(a, {"x", 1, token, 0}));  // grants its second request
        EXPECT_TRUE(engine.withdraw(a, "x", 2));
    });
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.1 x"));
    EXPECT_EQ(world.line("x"), "[2.1]");
}

TEST(LockEngineBatch, AnAnswerThatIsWithdrawnLeavesNothing) {
    engine_world world;
    const auto a = world.open();
    world.together([&](lock_engine& engine) {
        EXPECT_EQ(engine.request(a, wish_for(1, "x"))->type, kind::granted);
        EXPECT_EQ(engine.request(a, wish_for(2, "y"))->type, kind::granted);
        EXPECT_TRUE(engine.withdraw(a, "x", 1));
    });
    EXPECT_THAT(world.notices(), ElementsAre("granted 1.2 y"));
    EXPECT_EQ(world.line("x"), "");
}

TEST(LockEngineBatch, AnErrorOfOneLeavesTheOthersAlone) {
    engine_world world;
    const auto a = world.open();
    world.ask_for(a, 1, "x", lock_mode::permits(2));
    world.together([&](lock_engine& engine) {
        auto wrong = wish_for(2, "x");
        wrong.mode = lock_mode::permits(3);
        EXPECT_EQ(engine.request(a, wrong).error(), errc::capacity_differs);
        EXPECT_EQ(engine.request(a, wish_for(3, "y"))->type, kind::granted);
        EXPECT_FALSE(engine.withdraw(a, "x", 2));
    });
    EXPECT_EQ(world.line("x"), "[1.1#1]");
    EXPECT_EQ(world.line("y"), "[1.3]");
}

TEST(LockEngineBatch, EachOperationFindsWhoHasDied) {
    engine_world world;
    const auto a = world.open();
    const auto dead = world.open();
    const auto b = world.open();
    world.ask(dead, 1, "x");
    world.ask(dead, 2, "y");
    world.ask(b, 1, "y");
    world.expire(dead);
    world.together([&](lock_engine& engine) {
        EXPECT_EQ(engine.request(a, wish_for(1, "x"))->type, kind::granted);
        EXPECT_EQ(engine.request(a, wish_for(2, "y"))->type, kind::queued);
    });
    EXPECT_EQ(world.line("x"), "[1.1]");
    EXPECT_EQ(world.line("y"), "[3.1] 1.2");
    EXPECT_THAT(
        world.notices(), ElementsAre("granted 1.1 x", "granted 3.1 y !", "contended 3.1 y")
    );
}

}  // namespace
}  // namespace mortise::core::lock_engine_batch_test
