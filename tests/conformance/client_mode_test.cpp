// SPDX-License-Identifier: BSL-1.0
// Promises that concern two clients, beyond exclusive locks, for every store.
#include "client_fixture.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/with_lock.hpp"
#include "port_conformance.hpp"

#include <boost/asio/as_tuple.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

constexpr auto coded = asio::as_tuple(asio::deferred);

lock_options with_mode(lock_mode mode) {
    lock_options options;
    options.mode = mode;
    options.wait_max = 10s;
    return options;
}

/// An acquire that is under way in a coroutine of its own.
struct attempt {
    bool done = false;
    error_code code;
    lease held;
};

asio::awaitable<void>
acquire_into(lock_client& locks, std::string name, lock_options options, attempt& into) {
    auto reply = co_await locks.async_acquire(std::move(name), options, coded);
    auto& [code, held] = reply;
    into.code = code;
    into.held = std::move(held);
    into.done = true;
}

asio::awaitable<void>
begin(lock_client& locks, std::string name, lock_options options, attempt& into) {
    asio::co_spawn(
        co_await asio::this_coro::executor,
        acquire_into(locks, std::move(name), options, into),
        asio::detached
    );
}

}  // namespace

TEST_P(LockConformanceShared, ReadersOfTwoClientsShareUntilAWriterWaits) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        const lock_options shared = with_mode(lock_mode::shared());
        lease first = co_await alice.async_acquire("door", shared);
        lease second = co_await bob.async_acquire("door", shared);
        EXPECT_EQ(first.token(), second.token());
        attempt writer;
        co_await begin(bob, "door", with_mode(lock_mode::exclusive()), writer);
        co_await until(harness, [&] { return first.contended(); });
        attempt late;
        co_await begin(alice, "door", shared, late);
        co_await queued(alice, "door", 2, harness);
        EXPECT_FALSE(late.done) << "no reader joins when another client waits";
        const auto read = first.token();
        co_await first.async_release();
        co_await second.async_release();
        co_await until(harness, [&] { return writer.done; });
        EXPECT_GT(writer.held.token().value, read.value);
        EXPECT_FALSE(late.done);
        co_await writer.held.async_release();
        co_await until(harness, [&] { return late.done; });
        EXPECT_TRUE(late.held.held());
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformancePermits, PermitsOfTwoClientsAreAsManyAsThereAre) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        const lock_options two = with_mode(lock_mode::permits(2));
        lease first = co_await alice.async_acquire("door", two);
        lease second = co_await bob.async_acquire("door", two);
        EXPECT_EQ(first.slot(), 1u);
        EXPECT_EQ(second.slot(), 2u);
        EXPECT_NE(first.token().domain, second.token().domain);
        attempt third;
        co_await begin(bob, "door", two, third);
        co_await queued(alice, "door", 1, harness);
        const auto other = with_mode(lock_mode::permits(3));
        auto reply = co_await alice.async_acquire("door", other, coded);
        EXPECT_EQ(std::get<0>(reply), errc::capacity_differs);
        const auto token = first.token();
        co_await first.async_release();
        co_await until(harness, [&] { return third.done; });
        EXPECT_EQ(third.held.slot(), 1u);
        EXPECT_EQ(third.held.token().domain, token.domain);
        EXPECT_GT(third.held.token().value, token.value);
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformanceHoldMax, AGrantThatEndsByItselfFreesTheLockAndItsHolderKnowsBefore) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lock_options brief;
        brief.hold_max = 200ms;
        lease held = co_await alice.async_acquire("door", brief);
        const auto sure_until = held.valid_until();
        const lease next = co_await bob.async_acquire("door", {.wait_max = 10s});
        EXPECT_GE(harness.time()->now(), sure_until);
        EXPECT_FALSE(held.held()) << "its holder knows before";
        co_await until(harness, [&] { return held.state() == lease_state::lost; });
        EXPECT_EQ(held.check(), errc::lease_expired);
        EXPECT_GT(next.token().value, held.token().value);
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformanceExtend, ALeaseLastsAsLongAsItIsExtended) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lock_options brief;
        brief.hold_max = 500ms;
        lease held = co_await alice.async_acquire("door", brief);
        const auto first_end = held.valid_until();
        co_await held.async_extend(1h);
        EXPECT_GT(held.valid_until(), first_end);
        attempt next;
        co_await begin(bob, "door", {.wait_max = 60s}, next);
        co_await queued(alice, "door", 1, harness);
        co_await harness.time()->async_wait_until(first_end + 200ms);
        EXPECT_EQ(held.state(), lease_state::held);
        EXPECT_FALSE(next.done);
        co_await held.async_extend(200ms);
        const auto sure_until = held.valid_until();
        co_await until(harness, [&] { return next.done; });
        EXPECT_FALSE(next.code) << next.code.message();
        EXPECT_GE(harness.time()->now(), sure_until);
        EXPECT_FALSE(held.held()) << "its holder knows before";
        co_await until(harness, [&] { return held.state() == lease_state::lost; });
        EXPECT_EQ(held.check(), errc::lease_expired);
        EXPECT_EQ(std::get<0>(co_await held.async_extend(1h, coded)), errc::lease_expired);
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, ALingeringGrantIsGivenUpForAnotherClient) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lock_options keep;
        keep.linger = 60s;
        lease held = co_await alice.async_acquire("door", keep);
        co_await held.async_release();
        lease again = co_await alice.async_acquire("door", keep);
        EXPECT_EQ(alice.stats().requests, 1u);
        co_await again.async_release();
        const lease other = co_await bob.async_acquire("door", {.wait_max = 10s});
        EXPECT_TRUE(other.held());
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, AnotherClientGetsItsTurnAmongManyLocalHandOffs) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        bool stop = false;
        std::size_t running = 3;
        const auto greedy =
            [](store_harness& hh, lock_client& locks, const bool& end, std::size_t& left
            ) -> asio::awaitable<void> {
            while (!end) {
                const lease held = co_await locks.async_acquire("door");
                co_await pause(hh, 1ms);
            }
            --left;
        };
        for (int i = 0; i < 3; ++i) {
            asio::co_spawn(
                co_await asio::this_coro::executor,
                greedy(harness, alice, stop, running),
                asio::detached
            );
        }
        co_await until(harness, [&] { return alice.stats().granted > 20; });
        std::uint64_t last = 0;
        for (int i = 0; i < 5; ++i) {
            const lease mine = co_await bob.async_acquire("door", {.wait_max = 10s});
            EXPECT_GT(mine.token().value, last);
            last = mine.token().value;
        }
        stop = true;
        co_await until(harness, [&] { return running == 0; });
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformanceRecords, ABrokenLockIsLostToItsHolderAndRecorded) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        const auto seen = co_await bob.async_inspect("door", 10);
        EXPECT_TRUE(seen.has_value());
        if (!seen)
            co_return;
        EXPECT_EQ(seen->holders.size(), 1u);
        const fencing_token token = seen->holders.front().token;
        EXPECT_EQ(token, held.token());
        EXPECT_TRUE(co_await bob.async_break("door", token, "it was stuck"));
        EXPECT_FALSE(co_await bob.async_break("door", token, "once more"));
        co_await until(harness, [&] { return held.state() == lease_state::lost; });
        EXPECT_EQ(held.check(), errc::lease_lost);
        const auto records = co_await alice.async_breaks("door", 10);
        EXPECT_EQ(records.size(), 1u);
        EXPECT_EQ(records.front().why, "it was stuck");
        EXPECT_EQ(records.front().token, token);
        EXPECT_FALSE((co_await bob.async_inspect("door", 10)).has_value());
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformanceRecords, WhoWatchesIsToldOfAChange) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        const lease first = co_await bob.async_acquire("window");
        bool completed = false;
        error_code code;
        alice.async_watch([&](error_code why) {
            completed = true;
            code = why;
        });
        // Changes the lock again and again: while the session and the watch are being opened, a
        // change may be missed.
        while (!completed) {
            const lease held = co_await bob.async_acquire("door", {.wait_max = 10s});
            co_await pause(harness, 5ms);
        }
        EXPECT_FALSE(code) << code.message();
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
}

TEST_P(LockConformance, AStoppedClientHandsOverAtOnce) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        attempt here;
        co_await begin(alice, "door", lock_options(), here);
        attempt next;
        co_await begin(bob, "door", lock_options(), next);
        co_await queued(bob, "door", 1, harness);
        const machine_delay delay;
        const auto before = harness.time()->now();
        co_await alice.async_stop();
        co_await until(harness, [&] { return next.done; });
        EXPECT_TRUE(next.held.held());
        EXPECT_LT(harness.time()->now() - before, harness.ttl() / 2 + harness.lateness(delay));
        EXPECT_TRUE(here.done);
        EXPECT_EQ(here.code, errc::client_stopped);
        EXPECT_EQ(held.check(), errc::client_stopped);
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

}  // namespace mortise::test
