// SPDX-License-Identifier: BSL-1.0
#include "common/exit_code.hpp"
#include "lock/lock_commands.hpp"
#include "unit/tools/tool_world.hpp"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <sstream>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using tool::break_settings;
using tool::choose_grant;
using tool::failure;

break_settings order(const std::string& lock) {
    break_settings settings;
    settings.lock = lock;
    settings.why = "it hangs";
    return settings;
}

TEST(BreakCommand, TellsWhatWasBrokenAndWhoHasItNow) {
    tool_world world;
    lock_client alice = world.labelled("alice");
    lock_client bob = world.labelled("bob");
    lock_client admin = world.labelled("admin");
    const lease held = world.acquire(alice, "door");
    acquire_outcome next;
    bob.async_acquire("door", lock_options(), client_world::record(next));
    world.pass(2s);
    std::ostringstream out;
    EXPECT_EQ(world.run(tool::break_lock(admin, world.global, order("door"), out)), 0);
    ASSERT_TRUE(world.run_until([&] { return next.done; }));
    EXPECT_EQ(held.state(), lease_state::lost);
    const std::string broken = "broken: door, token " + std::to_string(held.token().value);
    EXPECT_THAT(out.str(), HasSubstr(broken + ", alice, process"));
    EXPECT_THAT(out.str(), HasSubstr("held for 2 s\n"));
    const std::string now = "held now by: token " + std::to_string(next.held.token().value);
    EXPECT_THAT(out.str(), HasSubstr(now + ", bob, process"));
    EXPECT_THAT(out.str(), Not(HasSubstr("waiting")));
}

TEST(BreakCommand, TellsProgramsTheSame) {
    tool_world world;
    world.global.json = true;
    lock_client alice = world.labelled("alice");
    const lease held = world.acquire(alice, "door");
    std::ostringstream out;
    EXPECT_EQ(world.run(tool::break_lock(alice, world.global, order("door"), out)), 0);
    const boost::json::value report = boost::json::parse(out.str());
    EXPECT_EQ(report.at("name").as_string(), "door");
    EXPECT_EQ(report.at("broken").at(0).at("label").as_string(), "alice");
    EXPECT_EQ(
        report.at("broken").at(0).at("token").as_string(), std::to_string(held.token().value)
    );
    EXPECT_TRUE(report.at("holders").as_array().empty());
    EXPECT_EQ(report.at("waiter_count").to_number<int>(), 0);
}

TEST(BreakCommand, ALockThatNobodyHoldsIsNotBroken) {
    tool_world world;
    lock_client admin = world.labelled("admin");
    std::ostringstream out;
    const failure how =
        world.run_to_failure(tool::break_lock(admin, world.global, order("door"), out));
    EXPECT_EQ(how.exit_code(), tool::exit_code::not_held);
    EXPECT_THAT(how.text(), HasSubstr("nobody holds"));
    EXPECT_EQ(out.str(), "");
}

TEST(BreakCommand, AnotherGrantThanTheOneThatWasSeenIsNotBroken) {
    tool_world world;
    lock_client alice = world.labelled("alice");
    lock_client bob = world.labelled("bob");
    break_settings settings = order("door");
    settings.token = world.acquire(alice, "door").token().value;
    world.pass(10ms);
    const lease held = world.acquire(bob, "door");
    std::ostringstream out;
    const failure how = world.run_to_failure(tool::break_lock(bob, world.global, settings, out));
    EXPECT_EQ(how.exit_code(), tool::exit_code::passed_on);
    EXPECT_THAT(how.text(), HasSubstr("token " + std::to_string(held.token().value) + ", bob"));
    EXPECT_TRUE(held.held());
}

TEST(BreakCommand, OfSeveralPermitsOneMustBeNamed) {
    tool_world world;
    lock_client alice = world.labelled("alice");
    lock_client bob = world.labelled("bob");
    const lock_options options{.mode = lock_mode::permits(2)};
    const lease first = world.acquire_as(alice, "seats", options);
    const lease second = world.acquire_as(bob, "seats", options);
    std::ostringstream out;
    break_settings settings = order("seats");
    const failure how = world.run_to_failure(tool::break_lock(bob, world.global, settings, out));
    EXPECT_EQ(how.exit_code(), tool::exit_code::usage);
    for (const char* word : {"--token", "--slot", "(slot 1), alice", "(slot 2), bob"})
        EXPECT_THAT(how.text(), HasSubstr(word));
    EXPECT_TRUE(first.held() && second.held());

    settings.slot = second.slot();
    EXPECT_EQ(world.run(tool::break_lock(alice, world.global, settings, out)), 0);
    world.pass(1s);
    EXPECT_TRUE(first.held());
    EXPECT_EQ(second.state(), lease_state::lost);
    EXPECT_THAT(out.str(), HasSubstr("held now by: token " + std::to_string(first.token().value)));

    settings.slot.reset();
    settings.token = first.token().value;
    EXPECT_EQ(world.run(tool::break_lock(alice, world.global, settings, out)), 0);
    world.pass(1s);
    EXPECT_EQ(first.state(), lease_state::lost);
}

TEST(BreakCommand, AllThatShareALockLoseIt) {
    tool_world world;
    lock_client alice = world.labelled("alice");
    lock_client bob = world.labelled("bob");
    const lock_options options{.mode = lock_mode::shared()};
    const lease first = world.acquire_as(alice, "book", options);
    const lease second = world.acquire_as(bob, "book", options);
    ASSERT_EQ(first.token(), second.token());
    std::ostringstream out;
    EXPECT_EQ(world.run(tool::break_lock(alice, world.global, order("book"), out)), 0);
    world.pass(1s);
    EXPECT_EQ(first.state(), lease_state::lost);
    EXPECT_EQ(second.state(), lease_state::lost);
    EXPECT_THAT(out.str(), HasSubstr("alice"));
    EXPECT_THAT(out.str(), HasSubstr("bob"));
    EXPECT_THAT(out.str(), HasSubstr("nobody holds it now\n"));
}

TEST(BreakCommand, AStoreThatDoesNotAnswerIsAFailure) {
    tool_world world;
    lock_client admin = world.labelled("admin");
    world.server.set_unavailable(true);
    std::ostringstream out;
    const failure how =
        world.run_to_failure(tool::break_lock(admin, world.global, order("door"), out));
    EXPECT_EQ(how.exit_code(), tool::exit_code::unavailable);
    EXPECT_THAT(how.text(), HasSubstr("memory:test"));
}

}  // namespace
}  // namespace mortise::test
