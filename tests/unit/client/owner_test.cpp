// SPDX-License-Identifier: BSL-1.0
// What an owner may and must not do: after a loss, with a hold of its own length inside, and beside
// itself.
#include "client_world.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace mortise::test {
namespace {
namespace owners {

using namespace std::chrono_literals;

lock_options owned(owner_id owner, lock_mode mode = lock_mode::exclusive()) {
    lock_options options;
    options.owner = owner;
    options.mode = mode;
    return options;
}

acquire_outcome acquired(client_world& world, lock_client& locks, lock_options options) {
    acquire_outcome outcome;
    locks.async_acquire("door", options, client_world::record(outcome));
    EXPECT_TRUE(world.run_until([&] { return outcome.done; }));
    return outcome;
}

lease acquire(client_world& world, lock_client& locks, lock_options options) {
    acquire_outcome outcome = acquired(world, locks, options);
    EXPECT_FALSE(outcome.code) << outcome.code.message();
    return std::move(outcome.held);
}

void lose(client_world& world, lock_client& by, const lease& held) {
    by.async_break("door", held.token(), "a test", [](error_code code, bool broken) {
        EXPECT_FALSE(code) << code.message();
        EXPECT_TRUE(broken);
    });
    EXPECT_TRUE(world.run_until([&] { return held.state() == lease_state::lost; }));
}

TEST(Owner, ThatHasLostItsLeasesMustLetGoOfThemFirst) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    const lock_options mine = owned(owner_id::draw());
    lease outer = acquire(world, alice, mine);
    lease inner = acquire(world, alice, mine);
    lose(world, bob, outer);
    const error_code refused = acquired(world, alice, mine).code;
    EXPECT_EQ(refused, errc::outer_lease_lost);
    EXPECT_EQ(refused, condition::not_held);
    std::optional<error_code> released;
    inner.async_release([&](error_code code) { released = code; });
    EXPECT_TRUE(world.run_until([&] { return released.has_value(); }));
    EXPECT_EQ(released, error_code(errc::lease_lost));
    EXPECT_EQ(acquired(world, alice, mine).code, errc::outer_lease_lost) << "the outer one is left";
    {
        const lease other = acquire(world, alice, owned(owner_id::draw()));
        EXPECT_TRUE(other.held()) << "another owner has lost nothing";
    }
    const auto before = outer.token().value;
    outer = lease();
    const lease again = acquire(world, alice, mine);
    EXPECT_GT(again.token().value, before);
    world.stop(alice);
    world.stop(bob);
}

TEST(Owner, MayHaveLostTheSessionToo) {
    client_world world;
    lock_client alice = world.client();
    const lock_options mine = owned(owner_id::draw());
    std::optional<lease> outer = acquire(world, alice, mine);
    world.server.restart(false);
    ASSERT_TRUE(world.run_until([&] { return outer->state() == lease_state::lost; }));
    EXPECT_EQ(acquired(world, alice, mine).code, errc::outer_lease_lost);
    outer.reset();
    EXPECT_TRUE(acquire(world, alice, mine).held());
    world.stop(alice);
}

TEST(Owner, KeepsTheHoldMaxOfAnInnerAcquire) {
    client_world world;
    lock_client alice = world.client();
    lock_options mine = owned(owner_id::draw());
    const lease outer = acquire(world, alice, mine);
    mine.hold_max = 500ms;
    const auto before = world.time->now();
    lease inner = acquire(world, alice, mine);
    EXPECT_EQ(inner.token(), outer.token());
    EXPECT_LE(inner.valid_until(), before + 500ms);
    std::optional<error_code> outcome;
    clock::time_point told_at;
    inner.async_wait_lost([&](error_code why) {
        outcome = why;
        told_at = world.time->now();
    });
    ASSERT_TRUE(world.run_until([&] { return inner.state() == lease_state::lost; }));
    EXPECT_EQ(outcome, error_code(errc::lease_expired));
    EXPECT_LT(told_at, before + 500ms) << "told before it is true";
    EXPECT_EQ(inner.check(), errc::lease_expired);
    EXPECT_TRUE(outer.held());
    world.pass(10ms);
    EXPECT_EQ(alice.stats().leases, 1u);
    EXPECT_EQ(alice.stats().lost, 1u);
    EXPECT_EQ(world.server.entries(), 1u);
    EXPECT_TRUE(acquire(world, alice, mine).held()) << "the outer one is what it is under";
    world.stop(alice);
}

TEST(Owner, FreesTheLockAtTheEndOfAnInnerHoldThatIsLeftAlone) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lock_options mine = owned(owner_id::draw());
    lease outer = acquire(world, alice, mine);
    mine.hold_max = 500ms;
    lease inner = acquire(world, alice, mine);
    outer = lease();
    const auto before = world.time->now();
    const lease other = acquire(world, bob, lock_options());
    EXPECT_TRUE(other.held());
    EXPECT_GE(world.time->now(), before + 490ms);
    EXPECT_LT(world.time->now(), before + 600ms);
    EXPECT_EQ(inner.state(), lease_state::lost);
    EXPECT_EQ(acquired(world, alice, mine).code, errc::outer_lease_lost);
    inner = lease();
    mine.wait_max = 1ms;
    EXPECT_EQ(acquired(world, alice, mine).code, errc::busy);
    world.stop(alice);
    world.stop(bob);
}

TEST(Owner, HearsNothingOfAnInnerHoldThatWasReleasedInTime) {
    client_world world;
    lock_client alice = world.client();
    lock_options mine = owned(owner_id::draw());
    const lease outer = acquire(world, alice, mine);
    mine.hold_max = 500ms;
    { const lease inner = acquire(world, alice, mine); }
    world.pass(1s);
    EXPECT_TRUE(outer.held());
    EXPECT_EQ(alice.stats().lost, 0u);
    EXPECT_EQ(alice.stats().leases, 1u);
    world.stop(alice);
}

TEST(Owner, DoesNotWaitForItselfWhereItWaitsTwice) {
    client_world world;
    lock_client alice = world.client();
    const lock_options mine = owned(owner_id::draw());
    lease first = acquire(world, alice, lock_options());
    acquire_outcome one;
    acquire_outcome stranger;
    acquire_outcome two;
    alice.async_acquire("door", mine, client_world::record(one));
    alice.async_acquire("door", lock_options(), client_world::record(stranger));
    alice.async_acquire("door", mine, client_world::record(two));
    world.pass(1ms);
    first = lease();
    world.pass(1ms);
    ASSERT_TRUE(one.done && two.done);
    EXPECT_FALSE(stranger.done);
    EXPECT_EQ(one.held.token(), two.held.token());
    one.held = lease();
    world.pass(1ms);
    EXPECT_FALSE(stranger.done);
    two.held = lease();
    world.pass(1ms);
    EXPECT_TRUE(stranger.done);
    EXPECT_TRUE(stranger.held.held());
    EXPECT_EQ(alice.stats().waiting, 0u);
    world.stop(alice);
}

TEST(Owner, IsToldWhereItWouldWaitForItself) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    const owner_id me = owner_id::draw();
    lease first = acquire(world, bob, lock_options());
    acquire_outcome reader;
    acquire_outcome writer;
    alice.async_acquire("door", owned(me, lock_mode::shared()), client_world::record(reader));
    alice.async_acquire("door", owned(me), client_world::record(writer));
    world.pass(1ms);
    EXPECT_FALSE(writer.done);
    first = lease();
    ASSERT_TRUE(world.run_until([&] { return reader.done && writer.done; }));
    EXPECT_TRUE(reader.held.held());
    EXPECT_EQ(writer.code, errc::upgrade_refused);
    world.stop(alice);
    world.stop(bob);
}

TEST(Owner, HasOnePermitHoweverOftenItAsks) {
    client_world world;
    lock_client alice = world.client();
    const owner_id me = owner_id::draw();
    const lease first = acquire(world, alice, owned(me, lock_mode::permits(1)));
    const lease again = acquire(world, alice, owned(me, lock_mode::permits(1)));
    EXPECT_EQ(again.slot(), first.slot());
    EXPECT_EQ(
        acquired(world, alice, owned(me, lock_mode::permits(2))).code, errc::capacity_differs
    );
    EXPECT_EQ(acquired(world, alice, owned(me)).code, errc::upgrade_refused);
    world.stop(alice);
}

TEST(Owner, DoesNotWaitForItselfInASetWithARepeatedName) {
    client_world world;
    lock_client alice = world.client();
    for (const owner_id& owner : {owner_id(), owner_id::draw()}) {
        std::optional<error_code> code;
        lease_set held;
        alice.async_acquire_all(
            {"door", "gate", "door"},
            owned(owner),
            [&](error_code ec, lease_set got) {
                code = ec;
                held = std::move(got);
            }
        );
        ASSERT_TRUE(world.run_until([&] { return code.has_value(); }));
        EXPECT_EQ(held.size(), 2u);
    }
    world.stop(alice);
}

TEST(Owner, HasNoMoreLeasesThanTheConfigurationAllows) {
    client_world world;
    client_config config = world.config();
    config.holds_max = 2;
    lock_client alice(world.context.get_executor(), world.server.make_store(), config);
    const lock_options mine = owned(owner_id::draw());
    lease first = acquire(world, alice, mine);
    const lease second = acquire(world, alice, mine);
    EXPECT_EQ(acquired(world, alice, mine).code, errc::too_many_holds);
    first = lease();
    EXPECT_TRUE(acquire(world, alice, mine).held());
    config.holds_max = 0;
    EXPECT_THROW(
        lock_client(world.context.get_executor(), world.server.make_store(), config), error
    );
    world.stop(alice);
}

TEST(Try, DoesNotLookAtWaitMax) {
    client_world world;
    lock_client alice = world.client();
    for (const auto unused : {-1ms, 0ms, std::chrono::milliseconds(duration_max + 1h)}) {
        lock_options options;
        options.wait_max = unused;
        std::optional<error_code> code;
        std::optional<lease> got;
        alice.async_try_acquire("door", options, [&](error_code ec, std::optional<lease> held) {
            code = ec;
            got = std::move(held);
        });
        ASSERT_TRUE(world.run_until([&] { return code.has_value(); }));
        EXPECT_FALSE(*code) << code->message();
        EXPECT_TRUE(got && got->held());
    }
    world.stop(alice);
}

}  // namespace owners
}  // namespace
}  // namespace mortise::test
