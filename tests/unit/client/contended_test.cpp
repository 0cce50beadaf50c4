// SPDX-License-Identifier: BSL-1.0
// A holder that waits until somebody else waits for its lock.
#include "client_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <chrono>
#include <optional>

namespace mortise::test {
namespace {
namespace contention {

using namespace std::chrono_literals;

using told_code = std::optional<error_code>;

void wait(lease& held, told_code& outcome) {
    held.async_wait_contended([&outcome](error_code code) {
        EXPECT_FALSE(outcome) << "completed twice";
        outcome = code;
    });
}

TEST(Contended, IsToldWhenAnotherCoroutineWaits) {
    client_world world;
    lock_client alice = world.client();
    lease held = world.acquire(alice, "door");
    told_code outcome;
    wait(held, outcome);
    world.pass(1s);
    EXPECT_FALSE(outcome);
    acquire_outcome next;
    alice.async_acquire("door", lock_options(), client_world::record(next));
    EXPECT_FALSE(outcome) << "completed inside of a call";
    world.pass(1ms);
    EXPECT_EQ(outcome, error_code());
    told_code at_once;
    wait(held, at_once);
    world.pass(1ms);
    EXPECT_EQ(at_once, error_code());
    held = lease();
    world.pass(1ms);
    told_code later;
    wait(next.held, later);
    world.pass(1ms);
    EXPECT_FALSE(later) << "nobody waits any more";
    world.stop(alice);
    EXPECT_EQ(later, error_code(errc::client_stopped));
}

TEST(Contended, IsToldWhenAnotherClientWaits) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease held = world.acquire(alice, "door");
    told_code outcome;
    wait(held, outcome);
    acquire_outcome elsewhere;
    bob.async_acquire("gate", lock_options(), client_world::record(elsewhere));
    world.pass(10ms);
    EXPECT_FALSE(outcome);
    acquire_outcome next;
    bob.async_acquire("door", lock_options(), client_world::record(next));
    EXPECT_TRUE(world.run_until([&] { return outcome.has_value(); }));
    EXPECT_EQ(outcome, error_code());
    EXPECT_TRUE(held.contended());
    world.stop(alice);
    world.stop(bob);
}

TEST(Contended, EndsWithTheLease) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    {
        lease held = world.acquire(alice, "door");
        told_code outcome;
        wait(held, outcome);
        held = lease();
        world.pass(1ms);
        EXPECT_EQ(outcome, error_code(errc::lease_released));
    }
    {
        lease held = world.acquire(alice, "door");
        told_code outcome;
        wait(held, outcome);
        bob.async_break("door", held.token(), "a test", [](error_code, bool) {});
        EXPECT_TRUE(world.run_until([&] { return outcome.has_value(); }));
        EXPECT_EQ(outcome, error_code(errc::lease_lost));
        told_code late;
        wait(held, late);
        world.pass(1ms);
        EXPECT_EQ(late, error_code(errc::lease_lost));
    }
    lease empty;
    told_code none;
    empty.async_wait_contended(asio::bind_executor(world.context, [&](error_code c) { none = c; }));
    world.pass(1ms);
    EXPECT_EQ(none, error_code(errc::lease_released));
    world.stop(alice);
    world.stop(bob);
}

TEST(Contended, MayBeCancelled) {
    client_world world;
    lock_client alice = world.client();
    lease held = world.acquire(alice, "door");
    told_code outcome;
    asio::cancellation_signal signal;
    held.async_wait_contended(asio::bind_cancellation_slot(signal.slot(), [&](error_code code) {
        outcome = code;
    }));
    world.pass(1ms);
    signal.emit(asio::cancellation_type::total);
    world.pass(1ms);
    EXPECT_EQ(outcome, error_code(asio::error::operation_aborted));
    EXPECT_TRUE(held.held());
    world.stop(alice);
}

TEST(Contended, TellsEveryoneWhoHoldsItTogether) {
    client_world world;
    lock_client alice = world.client();
    lock_options reads;
    reads.mode = lock_mode::shared();
    acquire_outcome one;
    acquire_outcome two;
    alice.async_acquire("door", reads, client_world::record(one));
    alice.async_acquire("door", reads, client_world::record(two));
    ASSERT_TRUE(world.run_until([&] { return one.done && two.done; }));
    told_code first;
    told_code second;
    wait(one.held, first);
    wait(two.held, second);
    acquire_outcome writer;
    alice.async_acquire("door", lock_options(), client_world::record(writer));
    world.pass(1ms);
    EXPECT_EQ(first, error_code());
    EXPECT_EQ(second, error_code());
    world.stop(alice);
}

}  // namespace contention
}  // namespace
}  // namespace mortise::test
