// SPDX-License-Identifier: BSL-1.0
// A leader that can be asked, told to resign, and awaited.
#include "client_world.hpp"
#include "mortise/mortise.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <chrono>
#include <optional>

namespace mortise::test {
namespace {
namespace candidates {

using namespace std::chrono_literals;

struct elected {
    std::optional<error_code> code;
    lease_view term;
};

void wait(leader_candidate& who, elected& into) {
    who.async_wait_elected([&into](error_code code, lease_view term) {
        EXPECT_FALSE(into.code) << "completed twice";
        into.code = code;
        into.term = term;
    });
}

void wait_deposed(leader_candidate& who, std::optional<error_code>& why) {
    who.async_wait_deposed([&why](error_code code) {
        EXPECT_FALSE(why) << "completed twice";
        why = code;
    });
}

error_code resign(client_world& world, leader_candidate& who) {
    std::optional<error_code> code;
    who.async_resign([&](error_code ec) { code = ec; });
    EXPECT_TRUE(world.run_until([&] { return code.has_value(); }));
    return code.value_or(errc::outcome_unknown);
}

TEST(LeaderCandidate, LeadsUntilItResignsAndThenTheNextOneDoes) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    leader_candidate first(alice, "leader");
    elected won;
    wait(first, won);
    ASSERT_TRUE(world.run_until([&] { return won.code.has_value(); }));
    EXPECT_FALSE(*won.code);
    EXPECT_TRUE(first.leads());
    EXPECT_EQ(first.token(), won.term.token());
    EXPECT_EQ(won.term.name(), "leader");
    leader_candidate second(bob, "leader");
    elected next;
    wait(second, next);
    std::optional<error_code> never_led;
    wait_deposed(second, never_led);
    world.pass(10s);
    EXPECT_FALSE(next.code);
    EXPECT_FALSE(second.leads());
    EXPECT_FALSE(second.token());
    EXPECT_EQ(never_led, error_code(errc::lease_released));
    std::optional<error_code> deposed;
    wait_deposed(first, deposed);
    EXPECT_FALSE(resign(world, first));
    EXPECT_EQ(deposed, error_code(errc::lease_released));
    EXPECT_FALSE(first.leads());
    ASSERT_TRUE(world.run_until([&] { return next.code.has_value(); }));
    EXPECT_FALSE(*next.code);
    EXPECT_TRUE(second.leads());
    EXPECT_GT(second.token().value, won.term.token().value);
    elected again;
    wait(first, again);
    world.pass(1ms);
    EXPECT_EQ(again.code, error_code(errc::lease_released)) << "it stands no longer";
    EXPECT_FALSE(resign(world, first)) << "to have resigned is no error";
    world.stop(alice);
    world.stop(bob);
}

TEST(LeaderCandidate, IsToldOfALossAndStandsAgain) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    leader_candidate who(alice, "leader");
    elected won;
    wait(who, won);
    ASSERT_TRUE(world.run_until([&] { return won.code.has_value(); }));
    const auto token = who.token();
    std::optional<error_code> deposed;
    wait_deposed(who, deposed);
    bob.async_break_holders("leader", "a test", [](error_code code, bool broken) {
        EXPECT_FALSE(code) << code.message();
        EXPECT_TRUE(broken);
    });
    ASSERT_TRUE(world.run_until([&] { return deposed.has_value(); }));
    EXPECT_EQ(deposed, error_code(errc::lease_lost));
    EXPECT_FALSE(who.leads());
    elected again;
    wait(who, again);
    ASSERT_TRUE(world.run_until([&] { return again.code.has_value(); }));
    EXPECT_FALSE(*again.code);
    EXPECT_GT(who.token().value, token.value);
    EXPECT_FALSE(resign(world, who));
    world.stop(alice);
    world.stop(bob);
}

TEST(LeaderCandidate, SurvivesAnOutageOfTheStore) {
    client_world world;
    lock_client alice = world.client();
    leader_candidate who(alice, "leader");
    elected won;
    wait(who, won);
    ASSERT_TRUE(world.run_until([&] { return won.code.has_value(); }));
    std::optional<error_code> deposed;
    wait_deposed(who, deposed);
    world.server.set_unavailable(true);
    ASSERT_TRUE(world.run_until([&] { return deposed.has_value(); }));
    EXPECT_EQ(deposed, error_code(errc::lease_expired));
    EXPECT_FALSE(who.leads());
    world.pass(10s);
    world.server.set_unavailable(false);
    EXPECT_TRUE(world.run_until([&] { return who.leads(); }));
    EXPECT_FALSE(resign(world, who));
    world.stop(alice);
}

TEST(LeaderCandidate, ResignsWhileItStands) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease held = world.acquire(bob, "leader");
    leader_candidate who(alice, "leader");
    elected won;
    wait(who, won);
    world.pass(100ms);
    EXPECT_EQ(world.server.entries(), 2u);
    EXPECT_FALSE(resign(world, who));
    EXPECT_EQ(won.code, error_code(errc::lease_released));
    EXPECT_EQ(world.server.entries(), 1u) << "nothing of it is left";
    world.stop(alice);
    world.stop(bob);
}

TEST(LeaderCandidate, ResignsWhenItIsDestroyedOrReplaced) {
    client_world world;
    lock_client alice = world.client();
    std::optional<leader_candidate> who(std::in_place, alice, "leader");
    ASSERT_TRUE(world.run_until([&] { return who->leads(); }));
    std::optional<error_code> deposed;
    wait_deposed(*who, deposed);
    *who = leader_candidate(alice, "other");
    EXPECT_TRUE(world.run_until([&] { return deposed.has_value() && who->leads(); }));
    EXPECT_EQ(deposed, error_code(errc::lease_released));
    world.pass(1ms);
    EXPECT_EQ(world.server.entries(), 1u);
    who.reset();
    world.pass(1ms);
    EXPECT_EQ(world.server.entries(), 0u);
    world.stop(alice);
}

TEST(LeaderCandidate, EndsWithItsClient) {
    for (const bool stopped : {true, false}) {
        SCOPED_TRACE(stopped ? "async_stop" : "destructor");
        client_world world;
        std::optional<lock_client> alice(world.client());
        leader_candidate who(*alice, "leader");
        ASSERT_TRUE(world.run_until([&] { return who.leads(); }));
        std::optional<error_code> deposed;
        wait_deposed(who, deposed);
        if (stopped)
            world.stop(*alice);
        else
            alice.reset();
        EXPECT_FALSE(who.leads());
        EXPECT_TRUE(world.run_until([&] { return deposed.has_value(); }));
        elected never;
        wait(who, never);
        EXPECT_TRUE(world.run_until([&] { return never.code.has_value(); }));
        EXPECT_EQ(never.code, error_code(errc::client_stopped));
        world.context.restart();
        world.context.run();
    }
}

TEST(LeaderCandidate, MayOutliveTheContext) {
    std::optional<client_world> world(std::in_place);
    std::optional<lock_client> alice(world->client());
    leader_candidate leading(*alice, "leader");
    leader_candidate standing(*alice, "leader");
    elected never;
    wait(standing, never);
    ASSERT_TRUE(world->run_until([&] { return leading.leads(); }));
    alice.reset();
    world.reset();
    EXPECT_FALSE(leading.leads());
}

TEST(LeaderCandidate, LetsAWaitBeCancelled) {
    client_world world;
    lock_client alice = world.client();
    lease held = world.acquire(alice, "leader");
    leader_candidate who(alice, "leader");
    std::optional<error_code> outcome;
    asio::cancellation_signal signal;
    who.async_wait_elected(asio::bind_cancellation_slot(
        signal.slot(), [&](error_code code, lease_view) { outcome = code; }
    ));
    world.pass(1ms);
    signal.emit(asio::cancellation_type::terminal);
    world.pass(1ms);
    EXPECT_EQ(outcome, error_code(asio::error::operation_aborted));
    held = lease();
    EXPECT_TRUE(world.run_until([&] { return who.leads(); })) << "it stands on";
    world.stop(alice);
}

}  // namespace candidates
}  // namespace
}  // namespace mortise::test
