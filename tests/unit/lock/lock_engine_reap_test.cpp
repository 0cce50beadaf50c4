// SPDX-License-Identifier: BSL-1.0
// A dead session with many locks: an operation frees what it meets in its lock, reaping the rest.
#include "core/lock_engine.hpp"
#include "unit/lock/engine_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace mortise::core::lock_engine_reap_test {
namespace {

using test::engine_world;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using kind = answer::kind;

std::string name_of(std::size_t lock) {
    return "lock " + std::to_string(lock);
}

// The session holds lock n by request n, from 1 on.
void hold_many(engine_world& world, session_key session, std::size_t count) {
    for (std::size_t n = 1; n <= count; ++n)
        world.ask(session, n, name_of(n));
}

TEST(LockEngineReap, AnOperationFreesOnlyTheLockAtHand) {
    engine_world world;
    const auto dead = world.open();
    const auto a = world.open();
    hold_many(world, dead, 100);
    world.expire(dead);
    EXPECT_EQ(world.ask(a, 1, name_of(50)).type, kind::granted);
    EXPECT_EQ(world.rows.places.size(), 100u) << "99 of the dead and the new one";
    EXPECT_EQ(world.line(name_of(1)), "[1.1]");
    EXPECT_FALSE(world.rows.sessions.contains(dead)) << "it is dead from now on";
    EXPECT_THAT(world.rows.dead, ElementsAre(dead)) << "and is known to have left something";
}

TEST(LockEngineReap, GoesFromLockToLockInPortions) {
    engine_world world;
    const auto dead = world.open();
    hold_many(world, dead, 10);
    EXPECT_FALSE(world.reap(dead, 4));
    EXPECT_EQ(world.rows.places.size(), 6u);
    EXPECT_EQ(world.rows.presence_of(dead), presence::gone);
    EXPECT_FALSE(world.reap(dead, 4));
    EXPECT_FALSE(world.reap(dead, 2)) << "all its locks are free, and it is not forgotten";
    EXPECT_EQ(world.rows.places.size(), 0u);
    EXPECT_THAT(world.rows.dead, ElementsAre(dead));
    EXPECT_TRUE(world.reap(dead, 1));
    EXPECT_THAT(world.rows.dead, IsEmpty());
    EXPECT_TRUE(world.reap(dead, 1)) << "nobody is reaped twice";
}

TEST(LockEngineReap, TakesFromItsBudgetWhatItDoes) {
    engine_world world;
    const auto first = world.open();
    const auto second = world.open();
    hold_many(world, first, 3);
    world.ask(second, 1, "x");
    std::size_t budget = 10;
    world.together([&](lock_engine& engine) {
        EXPECT_TRUE(engine.reap(first, budget));
        EXPECT_EQ(budget, 6u) << "three entries and the session";
        EXPECT_TRUE(engine.reap(second, budget));
        EXPECT_EQ(budget, 4u);
        budget = 0;
        EXPECT_FALSE(engine.reap(world.open(), budget)) << "nothing can be done with nothing";
    });
}

TEST(LockEngineReap, EachLockPassesOnInThePortionThatFreesIt) {
    engine_world world;
    const auto dead = world.open();
    const auto a = world.open();
    hold_many(world, dead, 6);
    for (std::size_t n = 1; n <= 6; ++n)
        world.ask(a, n, name_of(n));
    world.reap(dead, 3);
    EXPECT_THAT(
        world.notices(),
        ElementsAre("granted 2.1 lock 1", "granted 2.2 lock 2", "granted 2.3 lock 3")
    );
    EXPECT_EQ(world.line(name_of(4)), "[1.4] 2.4");
    world.reap(dead, 4);
    EXPECT_THAT(
        world.notices(),
        ElementsAre("granted 2.4 lock 4", "granted 2.5 lock 5", "granted 2.6 lock 6")
    );
    EXPECT_EQ(world.rows.sessions[a].grants, 6u);
    EXPECT_EQ(world.rows.sessions[a].requests, 0u);
    EXPECT_EQ(world.rows.sessions[a].changes, 6u);
}

TEST(LockEngineReap, BetweenTwoPortionsItsLocksAreFreeForWhoeverAsks) {
    engine_world world;
    const auto dead = world.open();
    const auto a = world.open();
    hold_many(world, dead, 6);
    const auto last = world.rows.last_base;
    world.reap(dead, 2);
    const auto got = world.ask(a, 1, name_of(5));
    EXPECT_EQ(got.type, kind::granted);
    EXPECT_EQ(got.token.base(), last + 1) << "a token above those of the dead";
    world.end(dead);
    EXPECT_EQ(world.line(name_of(5)), "[2.1]") << "reaping spares what is no longer of the dead";
    EXPECT_EQ(world.rows.places.size(), 1u);
}

TEST(LockEngineReap, OneThatEndsIsGrantedNothingBetweenTwoPortions) {
    engine_world world;
    const auto ends = world.open();
    const auto a = world.open();
    world.ask(ends, 1, "x");
    world.ask(a, 1, "y");
    world.ask(ends, 2, "y");
    world.ask(a, 2, "y");
    EXPECT_FALSE(world.reap(ends, 1));
    world.release(a, 1);
    EXPECT_EQ(world.line("y"), "[2.2]") << "the release met the one that ends";
    EXPECT_EQ(world.ask(ends, 3, "z").type, kind::refused);
    EXPECT_EQ(world.line("z"), "");
    EXPECT_TRUE(world.reap(ends, 1));
}

TEST(LockEngineReap, NewcomersStandBehindTheWaitersOfTheDead) {
    engine_world world;
    const auto a = world.open();
    const auto dead = world.open();
    const auto b = world.open();
    const auto c = world.open();
    world.ask(a, 1, "x");
    world.ask(dead, 1, "x");
    world.ask(b, 1, "x");
    world.rows.mark_dead(dead);
    world.ask(c, 1, "x");
    EXPECT_EQ(world.line("x"), "[1.1] 2.1 3.1 4.1") << "nobody has met it";
    world.release(a, 1);
    EXPECT_EQ(world.line("x"), "[3.1] 4.1");
    world.release(b, 1);
    EXPECT_EQ(world.line("x"), "[4.1]");
}

// The one that is dead is found by an operation at one lock; then another operation grants it the
// other lock, if it is not known to be dead.
TEST(LockEngineReap, ADeathInTheMiddleOfATransactionHoldsForAllOfIt) {
    engine_world world;
    const auto a = world.open();
    const auto dies = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    world.ask(a, 2, "y");
    world.ask(dies, 1, "x");
    world.ask(dies, 2, "y");
    world.ask(b, 1, "x");
    world.ask(b, 2, "y");
    const auto x = world.token("x");
    const auto y = world.token("y");
    world.together([&](lock_engine& engine) {
        engine.release(a, {"x", 1, x, 0});  // grants x to the one that dies
        world.expire(dies);
        engine.release(a, {"y", 2, y, 0});
        engine.advance("x");
    });
    EXPECT_EQ(world.line("x"), "[3.1]");
    EXPECT_EQ(world.line("y"), "[3.2]");
    EXPECT_THAT(world.notices(), UnorderedElementsAre("granted 3.1 x", "granted 3.2 y"));
}

TEST(LockEngineReap, NobodyIsRevivedByAClockThatIsSetBack) {
    engine_world world;
    const auto dead = world.open();
    const auto a = world.open();
    world.ask(dead, 1, "x");
    world.ask(dead, 2, "y");
    world.expire(dead);
    world.ask(a, 1, "x");
    world.rows.now -= std::chrono::seconds(10);
    EXPECT_EQ(world.ask(dead, 3, "z").type, kind::refused);
    EXPECT_EQ(world.ask(a, 2, "y").type, kind::granted);
}

TEST(LockEngineReap, ADeadWriterAmongTheWaitersStopsNobodyForLong) {
    engine_world world;
    const auto a = world.open();
    const auto dead = world.open();
    const auto b = world.open();
    world.ask_for(a, 1, "x", lock_mode::shared());
    world.ask(dead, 1, "x");
    world.ask_for(b, 1, "x", lock_mode::shared());
    EXPECT_EQ(world.line("x"), "[1.1] 2.1 3.1");
    world.end(dead);
    EXPECT_THAT(world.notices(), ElementsAre("granted 3.1 x"));
}

TEST(LockEngineReap, EndedGrantsGoInPortions) {
    using namespace std::chrono_literals;
    engine_world world;
    const auto a = world.open();
    for (std::size_t n = 1; n <= 5; ++n)
        world.ask_for(a, n, name_of(n), lock_mode::exclusive(), true, 5s);
    world.rows.now += 5s;
    std::size_t budget = 3;
    world.together([&](lock_engine& engine) { EXPECT_FALSE(engine.expire(budget)); });
    EXPECT_EQ(budget, 0u);
    EXPECT_EQ(world.rows.places.size(), 2u);
    budget = 3;
    world.together([&](lock_engine& engine) { EXPECT_TRUE(engine.expire(budget)); });
    EXPECT_EQ(budget, 1u);
    EXPECT_EQ(world.rows.places.size(), 0u);
}

TEST(LockEngineReap, TheGrantOfTheDeadIsNoneThatCanBeBroken) {
    engine_world world;
    const auto dead = world.open();
    const auto a = world.open();
    const auto token = world.ask(dead, 1, "x").token.value;
    world.ask(a, 1, "x");
    world.expire(dead);
    EXPECT_EQ(world.break_grants("x", token), 0u) << "it was over already";
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.1 x"));
}

}  // namespace
}  // namespace mortise::core::lock_engine_reap_test
