// SPDX-License-Identifier: BSL-1.0
#include "unit/client/client_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <cstddef>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

constexpr asio::cancellation_type all_types[] = {
    asio::cancellation_type::terminal,
    asio::cancellation_type::partial,
    asio::cancellation_type::total};

/// The situation of the acquire that is cancelled.
enum class scene { free, held_for_a_while, attempt, lost_push, opened_before };

std::string name_of(scene setting) {
    switch (setting) {
    case scene::free:
        return "Free";
    case scene::held_for_a_while:
        return "HeldForAWhile";
    case scene::attempt:
        return "Try";
    case scene::lost_push:
        return "LostPush";
    case scene::opened_before:
        return "OpenedBefore";
    }
    return "";
}

/// One run: the signal comes before the n-th handler. @return whether the run ended untouched.
bool run_cancelled_at(scene setting, asio::cancellation_type type, std::size_t step) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease held;
    if (setting == scene::held_for_a_while || setting == scene::lost_push)
        held = world.acquire(alice, "door");
    if (setting == scene::opened_before) {
        EXPECT_TRUE(world.acquire(bob, "window"));
    }
    const auto release_at = world.time->now() + 10ms;
    world.time->async_wait_until(release_at, [&](error_code) {
        if (setting == scene::lost_push)
            world.server.lose_pushes(2);
        held = lease();
    });

    acquire_outcome outcome;
    asio::cancellation_signal signal;
    if (setting == scene::attempt) {
        bob.async_try_acquire(
            "door",
            lock_options(),
            asio::bind_cancellation_slot(
                signal.slot(),
                [&](error_code code, std::optional<lease> got) {
                    outcome.done = true;
                    outcome.code = code;
                    if (got)
                        outcome.held = std::move(*got);
                }
            )
        );
    } else {
        bob.async_acquire(
            "door",
            lock_options(),
            asio::bind_cancellation_slot(signal.slot(), client_world::record(outcome))
        );
    }
    std::size_t handlers = 0;
    world.time->run_while(world.context, [&] { return !outcome.done && handlers++ < step; });
    const bool untouched = outcome.done;
    if (!untouched)
        signal.emit(type);
    EXPECT_TRUE(world.run_until([&] { return outcome.done; }));

    if (outcome.code) {
        EXPECT_EQ(outcome.code, asio::error::operation_aborted);
        EXPECT_FALSE(outcome.held);
        EXPECT_FALSE(untouched);
        EXPECT_EQ(bob.stats().cancelled, 1u);
    } else {
        EXPECT_TRUE(outcome.held.held());
        EXPECT_EQ(outcome.held.token().domain.empty(), false);
    }
    EXPECT_EQ(bob.stats().waiting, 0u);
    world.pass(20ms);  // Alice has released by now
    EXPECT_EQ(world.server.entries(), outcome.held ? 1u : 0u);
    outcome.held = lease();
    world.pass(20ms);
    EXPECT_EQ(world.server.entries(), 0u);
    EXPECT_EQ(bob.stats().leases, 0u);
    world.stop(alice);
    world.stop(bob);
    EXPECT_EQ(world.server.sessions(), 0u);
    return untouched;
}

class AcquireSweep : public testing::TestWithParam<scene> {};

TEST_P(AcquireSweep, ACancelledAcquireLeavesNothingAtWhateverStep) {
    for (const auto type : all_types) {
        std::size_t step = 0;
        while (!run_cancelled_at(GetParam(), type, step)) {
            ++step;
            ASSERT_LT(step, 10'000u);
            ASSERT_FALSE(HasFailure()) << "cancelled before handler " << step;
        }
        EXPECT_GE(step, 2u) << "the sweep must have cancelled something";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Scenes,
    AcquireSweep,
    testing::Values(
        scene::free, scene::held_for_a_while, scene::attempt, scene::lost_push, scene::opened_before
    ),
    [](const auto& each) { return name_of(each.param); }
);

/// One run with the n-th reply lost. @return whether there were fewer replies
bool run_with_lost_reply(std::size_t nth) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease held = world.acquire(alice, "door");
    // Replies are counted by letting n - 1 of them through: each step of the server is one handler
    // of ours.
    acquire_outcome outcome;
    bob.async_acquire("door", {.wait_max = 20'000ms}, client_world::record(outcome));
    world.time->async_wait_until(world.time->now() + 10ms, [&](error_code) { held = lease(); });
    std::size_t handlers = 0;
    world.time->run_while(world.context, [&] { return !outcome.done && handlers++ < nth; });
    const bool untouched = outcome.done;
    if (!untouched)
        world.server.lose_replies(1);
    EXPECT_TRUE(world.run_until([&] { return outcome.done; }));
    if (outcome.code) {
        EXPECT_TRUE(outcome.code == errc::outcome_unknown || outcome.code == errc::busy)
            << outcome.code.message();
    } else {
        EXPECT_TRUE(outcome.held.held());
    }
    // The lock comes free, whoever holds it now: nothing is doubled, and nothing blocks its own
    // owner.
    outcome.held = lease();
    world.pass(5s);
    EXPECT_EQ(world.server.entries(), 0u);
    lease again = world.acquire(bob, "door");
    EXPECT_TRUE(again.held());
    again = lease();
    world.pass(5s);
    world.server.lose_replies(0);
    world.stop(alice);
    world.stop(bob);
    EXPECT_EQ(world.server.sessions() + world.server.entries(), 0u);
    return untouched;
}

TEST(FaultSweep, ALostReplyNeitherDoublesAHoldNorBlocksItsOwner) {
    std::size_t nth = 0;
    while (!run_with_lost_reply(nth)) {
        ++nth;
        ASSERT_LT(nth, 10'000u);
        ASSERT_FALSE(HasFailure()) << "reply lost at handler " << nth;
    }
    EXPECT_GE(nth, 3u);
}

}  // namespace
}  // namespace mortise::test
