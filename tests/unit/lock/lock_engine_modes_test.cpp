// SPDX-License-Identifier: BSL-1.0
// Who may hold a lock together with whom, in which order, and with which tokens.
#include "core/lock_engine.hpp"
#include "unit/lock/engine_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::core::lock_engine_modes_test {
namespace {

using test::engine_world;
using testing::ElementsAre;
using testing::IsEmpty;
using kind = answer::kind;

constexpr lock_mode exclusive = lock_mode::exclusive();
constexpr lock_mode shared = lock_mode::shared();

// The line after session n asked by request n, for each of the modes in turn.
struct arrivals {
    std::vector<lock_mode> modes;
    std::string line;
};

TEST(LockEngineModes, GrantWhatGoesTogetherAndStopAtTheFirstThatDoesNot) {
    const lock_mode two = lock_mode::permits(2);
    const std::vector<arrivals> table = {
        {{exclusive, exclusive}, "[1.1] 2.2"},
        {{exclusive, shared}, "[1.1] 2.2"},
        {{exclusive, two}, "[1.1] 2.2"},
        {{shared, shared, shared}, "[1.1] [2.2] [3.3]"},
        {{shared, exclusive}, "[1.1] 2.2"},
        {{shared, exclusive, shared}, "[1.1] 2.2 3.3"},  // a writer who waits stops the readers
        {{shared, two}, "[1.1] 2.2"},
        {{shared, two, shared}, "[1.1] 2.2 3.3"},
        {{two, two, two}, "[1.1#1] [2.2#2] 3.3"},
        {{two, shared}, "[1.1#1] 2.2"},
        {{two, shared, two}, "[1.1#1] 2.2 3.3"},
        {{two, exclusive, two}, "[1.1#1] 2.2 3.3"},
        {{lock_mode::permits(1), lock_mode::permits(1)}, "[1.1#1] 2.2"},
    };
    for (const auto& row : table) {
        engine_world world;
        request_id id = 0;
        for (const auto mode : row.modes)
            world.ask_for(world.open(), ++id, "x", mode);
        EXPECT_EQ(world.line("x"), row.line);
    }
}

TEST(LockEngineModes, AReleaseLetsInAllWhoGoTogether) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    world.ask_for(b, 1, "x", shared);
    world.ask_for(a, 2, "x", shared);
    world.ask(b, 2, "x");
    world.ask_for(a, 3, "x", shared);
    world.release(a, 1);
    EXPECT_THAT(world.notices(), ElementsAre("granted 2.1 x !", "granted 1.2 x !"));
    EXPECT_EQ(world.line("x"), "[2.1] [1.2] 2.2 1.3");
    world.release(b, 1);
    EXPECT_THAT(world.notices(), IsEmpty()) << "a reader is left";
    world.release(a, 2);
    EXPECT_EQ(world.line("x"), "[2.2] 1.3");
    world.release(b, 2);
    EXPECT_EQ(world.line("x"), "[1.3]");
}

TEST(LockEngineModes, APhaseOfReadersHasOneTokenAndALaterWriterAHigherOne) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto first = world.ask_for(a, 1, "x", shared).token.value;
    const auto base = world.rows.last_base;
    EXPECT_EQ(world.ask_for(b, 1, "x", shared).token.value, first);
    world.release(a, 1, first);
    EXPECT_EQ(world.ask_for(a, 2, "x", shared).token.value, first) << "the phase goes on";
    EXPECT_EQ(world.rows.last_base, base) << "one base for all of them";
    world.ask(a, 3, "x");
    world.release(b, 1, first);
    world.release(a, 2, first);
    EXPECT_GT(world.token("x"), first);
    const auto writer = world.token("x");
    world.release(a, 3, writer);
    EXPECT_GT(world.ask_for(b, 2, "x", shared).token.value, writer) << "a new phase";
}

TEST(LockEngineModes, ReadersWhoAreGrantedTogetherShareTheToken) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask(a, 1, "x");
    world.ask_for(a, 2, "x", shared);
    world.ask_for(b, 1, "x", shared);
    world.release(a, 1);
    ASSERT_EQ(world.effects.size(), 2u);
    EXPECT_EQ(world.effects[0].token, world.effects[1].token);
}

TEST(LockEngineModes, ADeadReaderDoesNotEndThePhaseOfTheLiving) {
    engine_world world;
    const auto dead = world.open();
    const auto living = world.open();
    const auto c = world.open();
    const auto token = world.ask_for(dead, 1, "x", shared).token.value;
    world.ask_for(living, 1, "x", shared);
    world.expire(dead);
    const auto reply = world.ask_for(c, 1, "x", shared);
    EXPECT_EQ(reply.token.value, token);
    EXPECT_EQ(world.line("x"), "[2.1] [3.1]") << "the dead one was met and removed";
    EXPECT_FALSE(world.rows.sessions.contains(dead));
}

TEST(LockEngineModes, AWriterGetsWhatOnlyDeadReadersHold) {
    engine_world world;
    const auto first = world.open();
    const auto second = world.open();
    const auto c = world.open();
    const auto token = world.ask_for(first, 1, "x", shared).token.value;
    world.ask_for(second, 1, "x", shared);
    world.expire(first);
    world.expire(second);
    const auto reply = world.ask(c, 1, "x");
    EXPECT_EQ(reply.type, kind::granted);
    EXPECT_GT(reply.token.value, token);
    EXPECT_EQ(world.rows.sessions.size(), 1u);
}

TEST(LockEngineModes, APhaseThatOnlyTheDeadHoldIsOver) {
    engine_world world;
    const auto dead = world.open();
    const auto token = world.ask_for(dead, 1, "x", shared).token.value;
    world.expire(dead);
    EXPECT_GT(world.ask_for(world.open(), 1, "x", shared).token.value, token);
}

TEST(LockEngineModes, WhoCannotBeReachedDoesNotStopThoseBehindIt) {
    engine_world world;
    const auto a = world.open();
    const auto writer = world.open();
    const auto c = world.open();
    world.ask_for(a, 1, "x", shared);
    world.ask(writer, 1, "x");
    world.set_unreachable(writer, true);
    EXPECT_EQ(world.ask_for(c, 1, "x", shared).type, kind::granted);
    EXPECT_EQ(world.line("x"), "[1.1] [3.1] 2.1") << "it keeps its place";
    world.set_unreachable(writer, false);
    EXPECT_EQ(world.ask_for(c, 2, "x", shared).type, kind::queued) << "now it does";
    world.release(a, 1);
    world.release(c, 1);
    EXPECT_EQ(world.line("x"), "[2.1] 3.2");
}

TEST(LockEngineModes, WithdrawingAWriterLetsTheReadersBehindItIn) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask_for(a, 1, "x", shared);
    world.ask(b, 1, "x");
    world.ask_for(a, 2, "x", shared);
    world.ask_for(b, 2, "x", shared);
    EXPECT_TRUE(world.withdraw(b, 1));
    EXPECT_THAT(world.notices(), ElementsAre("granted 1.2 x", "granted 2.2 x"));
}

TEST(LockEngineModes, AWriterWhoDiesWaitingLetsTheReadersBehindItIn) {
    engine_world world;
    const auto a = world.open();
    const auto writer = world.open();
    const auto c = world.open();
    world.ask_for(a, 1, "x", shared);
    world.ask(writer, 1, "x");
    world.ask_for(c, 1, "x", shared);
    world.expire(writer);
    EXPECT_EQ(world.ask_for(c, 2, "x", shared).type, kind::granted);
    EXPECT_EQ(world.line("x"), "[1.1] [3.1] [3.2]");
}

TEST(LockEngineModes, PermitsTakeTheLowestFreeSlotAndATokenOfTheirOwn) {
    engine_world world;
    const auto a = world.open();
    const lock_mode three = lock_mode::permits(3);
    std::uint64_t last = 0;
    for (std::uint32_t slot = 1; slot <= 3; ++slot) {
        const auto reply = world.ask_for(a, slot, "x", three);
        EXPECT_EQ(reply.slot, slot);
        EXPECT_GT(reply.token.value, last);
        last = reply.token.value;
    }
    EXPECT_EQ(world.ask_for(a, 4, "x", three).type, kind::queued);
    world.release(a, 2);
    EXPECT_THAT(world.notices(), ElementsAre("granted 1.4#2 x"));
    world.release(a, 3);
    world.release(a, 1);
    EXPECT_EQ(world.ask_for(a, 5, "x", three).slot, 1u) << "the lowest";
    EXPECT_EQ(world.ask_for(a, 6, "x", three).slot, 3u);
}

TEST(LockEngineModes, ADeadHolderAmongManyPermitsIsFoundWhenTheyAreAllTaken) {
    engine_world world;
    const auto a = world.open();
    const auto dead = world.open();
    const lock_mode three = lock_mode::permits(3);
    world.ask_for(a, 1, "x", three);
    world.ask_for(dead, 1, "x", three);
    world.ask_for(a, 2, "x", three);
    world.expire(dead);
    EXPECT_EQ(world.ask_for(a, 3, "x", three, false).slot, 2u);
    EXPECT_FALSE(world.rows.sessions.contains(dead));
}

TEST(LockEngineModes, ReleaseComparesTheSlot) {
    engine_world world;
    const auto a = world.open();
    const auto reply = world.ask_for(a, 1, "x", lock_mode::permits(2));
    EXPECT_FALSE(world.release(a, 1, reply.token.value, 0));
    EXPECT_FALSE(world.release(a, 1, reply.token.value, 2));
    EXPECT_TRUE(world.release(a, 1, reply.token.value, 1));
}

TEST(LockEngineModes, AnotherNumberOfPermitsIsRefusedWhileThereAreAny) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    world.ask_for(a, 1, "x", lock_mode::permits(2));
    world.ask_for(b, 1, "x", lock_mode::permits(3));
    EXPECT_EQ(world.refused, errc::capacity_differs) << "one holds";
    EXPECT_EQ(world.line("x"), "[1.1#1]") << "nothing was written";
    EXPECT_THAT(world.notices(), IsEmpty());
    EXPECT_EQ(world.ask_for(b, 2, "y", lock_mode::permits(3)).type, kind::granted)
        << "another lock";

    world.ask(b, 3, "z");
    world.ask_for(a, 2, "z", lock_mode::permits(2));
    world.ask_for(b, 4, "z", lock_mode::permits(3));
    EXPECT_EQ(world.refused, errc::capacity_differs) << "one waits";
    world.withdraw(a, 2);
    EXPECT_EQ(world.ask_for(b, 5, "z", lock_mode::permits(3)).type, kind::queued);
    EXPECT_EQ(world.refused, error_code());
    EXPECT_EQ(world.ask_for(a, 3, "z", shared).type, kind::queued) << "modes may be mixed";
}

TEST(LockEngineModes, TheDeadDoNotSayHowManyPermitsThereAre) {
    engine_world world;
    const auto dead = world.open();
    world.ask_for(dead, 1, "x", lock_mode::permits(2));
    world.expire(dead);
    EXPECT_EQ(world.ask_for(world.open(), 1, "x", lock_mode::permits(3)).type, kind::granted);
}

TEST(LockEngineModes, NumbersOfPermitsThatCannotBeAreRefused) {
    engine_world world;
    const auto a = world.open();
    for (const std::uint32_t capacity : {0u, lock_mode::capacity_max + 1}) {
        world.ask_for(a, 1, "x", lock_mode::permits(capacity));
        EXPECT_EQ(world.refused, errc::bad_mode) << capacity;
        EXPECT_EQ(world.line("x"), "");
    }
    EXPECT_EQ(world.ask_for(a, 1, "x", lock_mode::permits(lock_mode::capacity_max)).slot, 1u);
}

TEST(LockEngineModes, BreakingASharedTokenBreaksAllWhoHaveIt) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto c = world.open();
    const auto token = world.ask_for(a, 1, "x", shared).token.value;
    world.ask_for(b, 1, "x", shared);
    world.ask(c, 1, "x");
    EXPECT_EQ(world.break_grants("x", token), 2u);
    EXPECT_THAT(
        world.notices(), ElementsAre("look_again 1.1 x", "look_again 2.1 x", "granted 3.1 x")
    );
}

TEST(LockEngineModes, BreakingAPermitComparesItsSlotAndSparesTheOthers) {
    engine_world world;
    const auto a = world.open();
    const lock_mode two = lock_mode::permits(2);
    const auto first = world.ask_for(a, 1, "x", two);
    world.ask_for(a, 2, "x", two);
    EXPECT_EQ(world.break_grants("x", first.token.value, 2), 0u);
    EXPECT_EQ(world.break_grants("x", first.token.value, 1), 1u);
    EXPECT_EQ(world.line("x"), "[1.2#2]");
}

TEST(LockEngineModes, DrawsConsecutiveBasesForAGrantThatIsHeld) {
    engine_world world;
    const auto a = world.open();
    const auto token = world.ask(a, 1, "x").token.value;
    const auto first = world.draw(a, 1, token, 256);
    ASSERT_TRUE(first);
    EXPECT_GT(*first, token >> fencing_token::sequence_bits);
    EXPECT_GE(world.ask(a, 2, "y").token.base(), *first + 256) << "later ones are above";
    EXPECT_TRUE(world.release(a, 1, token)) << "the grant still has the token that it came with";
}

TEST(LockEngineModes, DrawsNothingForAGrantThatIsNotThere) {
    engine_world world;
    const auto a = world.open();
    const auto b = world.open();
    const auto token = world.ask(a, 1, "x").token.value;
    world.ask(b, 1, "x");
    const auto base = world.rows.last_base;
    EXPECT_EQ(world.draw(a, 1, token + 1, 8).error(), errc::lease_lost) << "another token";
    EXPECT_EQ(world.draw(a, 2, token, 8).error(), errc::lease_lost) << "another id";
    EXPECT_EQ(world.draw(b, 1, token, 8).error(), errc::lease_lost) << "another session";
    EXPECT_EQ(world.draw(b, 1, 0, 8).error(), errc::lease_lost) << "it waits";
    EXPECT_EQ(world.draw(a, 1, token, 8, 1).error(), errc::lease_lost) << "another slot";
    world.release(a, 1);
    EXPECT_EQ(world.draw(a, 1, token, 8).error(), errc::lease_lost) << "released";
    EXPECT_EQ(world.rows.last_base, base + 1) << "nothing but the grant of the one who waited";
}

TEST(LockEngineModes, DrawsForAPermitAndNotForAReader) {
    engine_world world;
    const auto a = world.open();
    const auto permit = world.ask_for(a, 1, "x", lock_mode::permits(2));
    EXPECT_TRUE(world.draw(a, 1, permit.token.value, 8, permit.slot));
    const auto reader = world.ask_for(a, 2, "y", shared);
    EXPECT_EQ(world.draw(a, 2, reader.token.value, 8).error(), errc::unsupported);
}

TEST(LockEngineModes, PositionsCountAllHoldersAndAreNeverTooLow) {
    engine_world world;
    const auto a = world.open();
    for (request_id id = 1; id <= 3; ++id)
        world.ask_for(a, id, "x", shared);
    EXPECT_EQ(world.ask(a, 4, "x").position, 3u);
    EXPECT_EQ(world.ask_for(a, 5, "x", shared).position, 4u);
    world.release(a, 2);
    EXPECT_EQ(world.ask(a, 4, "x").position, 2u);
}

}  // namespace
}  // namespace mortise::core::lock_engine_modes_test
