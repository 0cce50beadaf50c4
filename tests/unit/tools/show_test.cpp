// SPDX-License-Identifier: BSL-1.0
#include "lock/lock_commands.hpp"
#include "unit/tools/tool_world.hpp"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <deque>
#include <sstream>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

std::string shown(tool_world& world, lock_client& locks, const std::string& name) {
    tool::show_settings settings;
    settings.lock = name;
    std::ostringstream out;
    EXPECT_EQ(world.run(tool::show_lock(locks, world.global, settings, out)), 0);
    return out.str();
}

TEST(ShowCommand, SaysThatNobodyHoldsALock) {
    tool_world world;
    lock_client locks = world.labelled("show");
    EXPECT_EQ(shown(world, locks, "a\n\xff"), "a\\x0a\\xff: nobody holds it, nobody waits\n");
    world.global.json = true;
    const boost::json::value report = boost::json::parse(shown(world, locks, "a\n\xff"));
    EXPECT_EQ(report.at("name_hex").as_string(), "610aff");
    EXPECT_TRUE(report.at("holders").as_array().empty());
    EXPECT_TRUE(report.at("breaks").as_array().empty());
}

TEST(ShowCommand, ShowsHoldersWithTokenSlotAgeAndLimit) {
    tool_world world;
    lock_client alice = world.labelled("alice");
    lock_client bob = world.labelled("bob");
    const lease first =
        world.acquire_as(alice, "seats", {.mode = lock_mode::permits(3), .hold_max = 10min});
    world.pass(65s);
    const lease second = world.acquire_as(bob, "seats", {.mode = lock_mode::permits(3)});
    const std::string text = shown(world, alice, "seats");
    EXPECT_THAT(text, testing::StartsWith("seats: permits(3), held by 2, nobody waits\n"));
    EXPECT_THAT(text, HasSubstr(std::to_string(first.token().value)));
    EXPECT_THAT(text, HasSubstr(std::string(second.token().domain.name())));
    EXPECT_THAT(text, HasSubstr("1 min 5 s       10 min\n"));
    EXPECT_THAT(text, Not(HasSubstr("WAITER")));
    world.global.json = true;
    const boost::json::value report = boost::json::parse(shown(world, alice, "seats"));
    const boost::json::value& holder = report.at("holders").at(0);
    EXPECT_EQ(holder.at("token").as_string(), std::to_string(first.token().value));
    EXPECT_EQ(holder.at("slot").to_number<unsigned>(), first.slot());
    EXPECT_EQ(holder.at("hold_max_ms").to_number<int>(), 600'000);
    EXPECT_GE(holder.at("held_ms").to_number<int>(), 65'000);
    EXPECT_FALSE(report.at("holders").at(1).as_object().contains("hold_max_ms"));
}

TEST(ShowCommand, ShowsTheFirstWaitersInOrderAndCountsTheOthers) {
    tool_world world;
    lock_client holder = world.labelled("holder");
    const lease held = world.acquire(holder, "door");
    std::deque<lock_client> waiting;
    std::deque<acquire_outcome> outcomes;
    for (int i = 1; i <= 103; ++i) {
        waiting.push_back(world.labelled("w" + std::to_string(i)));
        outcomes.emplace_back();
        waiting.back().async_acquire("door", lock_options(), client_world::record(outcomes.back()));
        world.pass(1ms);
    }
    const std::string text = shown(world, holder, "door");
    EXPECT_THAT(text, testing::StartsWith("door: exclusive, held, 103 wait\n"));
    EXPECT_LT(text.find(" w1 "), text.find(" w2 "));
    EXPECT_LT(text.find(" w2 "), text.find(" w100 "));
    EXPECT_THAT(text, Not(HasSubstr("w101")));
    EXPECT_THAT(text, HasSubstr("\nand 3 more\n"));
}

TEST(ShowCommand, ShowsWhoWasPartedFromTheLockAndWhy) {
    tool_world world;
    lock_client alice = world.labelled("alice");
    const lease held = world.acquire(alice, "door");
    bool broken = false;
    alice.async_break("door", held.token(), "it\nhangs", [&](error_code code, bool done) {
        broken = !code && done;
    });
    ASSERT_TRUE(world.run_until([&] { return broken; }));
    const std::string text = shown(world, alice, "door");
    EXPECT_THAT(text, testing::StartsWith("door: nobody holds it, nobody waits\n"));
    EXPECT_THAT(text, HasSubstr("it hangs\n"));
    EXPECT_THAT(text, HasSubstr(std::to_string(held.token().value)));
    world.global.json = true;
    const boost::json::value report = boost::json::parse(shown(world, alice, "door"));
    EXPECT_EQ(report.at("breaks").at(0).at("why").as_string(), "it\nhangs");
    EXPECT_THAT(
        std::string(report.at("breaks").at(0).at("at").as_string()), testing::EndsWith("Z")
    );
}

}  // namespace
}  // namespace mortise::test
