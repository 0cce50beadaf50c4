// SPDX-License-Identifier: BSL-1.0
// What a store may leave open until its server has answered, and what it need not promise.
#include "unit/client/client_world.hpp"
#include "unit/client/edited_store.hpp"

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class StoreTraits : public ::testing::Test {
protected:
    lock_client edited_client() {
        return world.client(std::make_unique<edited_store>(world.server.make_store(), line));
    }

    /// Tries to acquire. @return the code.
    error_code attempt(lock_client& locks, lock_options options) {
        acquire_outcome outcome;
        locks.async_acquire("door", options, client_world::record(outcome));
        EXPECT_TRUE(world.run_until([&] { return outcome.done; }));
        return outcome.code;
    }

    client_world world;
    std::shared_ptr<edited_line> line = std::make_shared<edited_line>();
};

TEST_F(StoreTraits, AreReadAgainOnceTheServerHasAnswered) {
    bool asked = false;
    line->refuse_session = [&] {
        asked = true;
        return error_code();
    };
    line->edit_traits = [&](store_traits& traits) {
        traits.strength = asked ? token_strength::strict : token_strength::durable_if_configured;
        traits.shared = !asked;
    };
    lock_client alice = edited_client();
    EXPECT_EQ(alice.traits().strength, token_strength::durable_if_configured);
    lock_options reader;
    reader.mode = lock_mode::shared();
    EXPECT_FALSE(attempt(alice, reader)) << "nobody knows yet that the server has no readers";
    EXPECT_EQ(alice.traits().strength, token_strength::strict);
    EXPECT_EQ(attempt(alice, reader), errc::unsupported);
    EXPECT_FALSE(attempt(alice, lock_options()));
}

TEST_F(StoreTraits, AServerMayRefuseTheTtl) {
    bool refuses = true;
    line->refuse_session = [&] { return refuses ? errc::ttl_too_short : error_code(); };
    line->remote = true;
    lock_client alice = edited_client();
    EXPECT_EQ(attempt(alice, lock_options()), errc::ttl_too_short) << "and waits for nothing";
    EXPECT_EQ(attempt(alice, lock_options()), errc::ttl_too_short);
    refuses = false;
    EXPECT_FALSE(attempt(alice, lock_options()));
}

TEST_F(StoreTraits, AStoreNeedNotCountTheEntriesOfASession) {
    line->edit_traits = [](store_traits& traits) { traits.counts = false; };
    line->edit_beat = [](heartbeat& reply) { reply.grants = reply.requests = 0; };
    lock_client alice = edited_client();
    const lease held = world.acquire(alice, "door");
    world.pass(10s);
    EXPECT_TRUE(held.held());
    EXPECT_EQ(alice.stats().looks, 0u) << "counts that mean nothing are not compared";
    EXPECT_GT(alice.stats().heartbeats, 5u);
}

// ZooKeeper: the acknowledgement of a heartbeat proves only that the one before has spread.
TEST_F(StoreTraits, AHeartbeatMayProveOnlyTheOneBeforeIt) {
    std::optional<clock::time_point> before;
    line->edit_beat = [&](heartbeat& reply) { reply.base = std::exchange(before, reply.sent); };
    lock_client alice = edited_client();
    const lease held = world.acquire(alice, "door");
    const auto beats = alice.stats().heartbeats;
    const auto since = world.time->now();
    const auto own_window = 3'000ms - 30ms;
    while (world.time->now() < since + 30s) {
        world.pass(100ms);
        ASSERT_TRUE(held.held());
        ASSERT_LE(held.valid_until(), world.time->now() + own_window);
        if (before && world.time->now() > since + 3s) {
            ASSERT_LE(held.valid_until(), *before - 1s + own_window) << "from the one before";
        }
    }
    EXPECT_LE(alice.stats().heartbeats - beats, 32u) << "no more often than with a proof at once";
}

}  // namespace
}  // namespace mortise::test
