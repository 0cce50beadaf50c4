// SPDX-License-Identifier: BSL-1.0
#include "conformance/client_fixture.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <string>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

TEST_P(LockConformance, AnAcquireHoldsAndAReleaseFrees) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client locks = make_client(harness);
        lease held = co_await locks.async_acquire("door");
        EXPECT_TRUE(held);
        EXPECT_EQ(held.state(), lease_state::held);
        EXPECT_FALSE(held.check());
        EXPECT_EQ(held.name(), "door");
        EXPECT_TRUE(held.token());
        EXPECT_GT(held.valid_until(), harness.time()->now());
        EXPECT_LE(held.valid_until(), harness.time()->now() + harness.ttl());
        EXPECT_LE(held.verified_ago(), harness.ttl());
        co_await held.async_release();
        EXPECT_EQ(held.state(), lease_state::released);
        EXPECT_FALSE(held);
        lease again = co_await locks.async_acquire("door");
        EXPECT_TRUE(again.held());
        co_await locks.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, ATryTellsBusyByAnEmptyValue) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        std::optional<lease> first = co_await alice.async_try_acquire("door");
        EXPECT_TRUE(first.has_value());
        std::optional<lease> second = co_await bob.async_try_acquire("door");
        EXPECT_FALSE(second.has_value());
        EXPECT_EQ(bob.stats().busy, 1u);
        co_await first->async_release();
        second = co_await bob.async_try_acquire("door");
        EXPECT_TRUE(second.has_value());
        EXPECT_GT(second->token().value, first->token().value);
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

// Nobody waits for the end of the release: the try is the client's next call.
TEST_P(LockConformance, ALockThatAClientDropsIsFreeForItsNextTry) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client locks = make_client(harness);
        for (int round = 0; round < 3; ++round) {
            { const lease dropped = co_await locks.async_acquire("door"); }
            std::optional<lease> again = co_await locks.async_try_acquire("door");
            EXPECT_TRUE(again.has_value()) << "in round " << round;
        }
        co_await locks.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, WaitMaxEndsTheWaitWithBusy) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        const auto start = harness.time()->now();
        auto result =
            co_await bob.async_acquire("door", {.wait_max = 50ms}, asio::as_tuple(asio::deferred));
        auto& [ec, none] = result;
        EXPECT_EQ(ec, errc::busy);
        EXPECT_FALSE(none);
        EXPECT_GE(harness.time()->now() - start, 50ms);
        EXPECT_LT(harness.time()->now() - start, 5s);
        // The failed acquire no longer waits: the lock is free after the release.
        co_await held.async_release();
        const auto free = co_await alice.async_try_acquire("door");
        EXPECT_TRUE(free.has_value());
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, AWaiterIsWokenByTheRelease) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        const auto token = held.token();
        bool got = false;
        asio::co_spawn(
            co_await asio::this_coro::executor,
            [](lock_client& client, bool& flag, fencing_token before) -> asio::awaitable<void> {
                lease mine = co_await client.async_acquire("door");
                EXPECT_GT(mine.token().value, before.value);
                flag = true;
                co_await mine.async_release();
            }(bob, got, token),
            asio::detached
        );
        co_await pause(harness, 30ms);
        EXPECT_FALSE(got);
        co_await held.async_release();
        co_await until(harness, [&] { return got; });
        EXPECT_TRUE(got);
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

namespace {

asio::awaitable<void>
take_a_turn(store_harness& harness, lock_client& client, std::vector<int>& seen, int number) {
    lease mine = co_await client.async_acquire("door");
    seen.push_back(number);
    co_await pause(harness, 1ms);
    co_await mine.async_release();
}

}  // namespace

TEST_P(LockConformanceFair, WaitersAreServedInTheOrderOfTheirArrival) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        std::vector<lock_client> clients;
        for (int i = 0; i <= 6; ++i)
            clients.push_back(make_client(harness));
        lock_client& alice = clients.back();
        lease held = co_await alice.async_acquire("door");
        std::vector<int> order;
        for (int i = 0; i < 6; ++i) {
            auto& client = clients[static_cast<std::size_t>(i)];
            asio::co_spawn(
                co_await asio::this_coro::executor,
                take_a_turn(harness, client, order, i),
                asio::detached
            );
            // One after the other: each asks once the store has the one before it in its queue.
            co_await queued(alice, "door", static_cast<std::size_t>(i) + 1, harness);
        }
        co_await held.async_release();
        co_await until(harness, [&] { return order.size() == 6; });
        const std::vector<int> expected{0, 1, 2, 3, 4, 5};
        EXPECT_EQ(order, expected);
        for (auto& each : clients)
            co_await each.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, WaitersOfOneClientAreServedInTheOrderOfTheirArrivalByOneGrant) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        const fencing_token first = held.token();
        std::vector<int> order;
        for (int i = 0; i < 10; ++i) {
            asio::co_spawn(
                co_await asio::this_coro::executor,
                take_a_turn(harness, alice, order, i),
                asio::detached
            );
        }
        co_await until(harness, [&] { return alice.stats().waiting == 10; });
        co_await held.async_release();
        co_await until(harness, [&] { return order.size() == 10; });
        const std::vector<int> expected{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
        EXPECT_EQ(order, expected);
        EXPECT_EQ(alice.stats().requests, 1u) << "one request stood for all of them";
        EXPECT_EQ(alice.stats().grants, 1u);
        const lease next = co_await alice.async_acquire("door");
        EXPECT_GT(next.token().value, first.value);
        co_await alice.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, ADestroyedLeaseReleases) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        {
            lease held = co_await alice.async_acquire("door");
            EXPECT_TRUE(held);
        }
        lease next = co_await bob.async_acquire("door", {.wait_max = 5s});
        EXPECT_TRUE(next.held());
        // The counter grows when the answer arrives, which may be after the next grant.
        co_await until(harness, [&] { return alice.stats().released_late == 1; });
        // Move assignment lets go of what the target holds.
        lease other = co_await alice.async_acquire("window");
        next = std::move(other);
        EXPECT_EQ(next.name(), "window");
        const auto freed = co_await alice.async_acquire("door", {.wait_max = 5s});
        EXPECT_TRUE(freed.held());
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, ADestroyedClientFreesItsLocks) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client bob = make_client(harness);
        std::optional<lock_client> alice(make_client(harness));
        lease held = co_await alice->async_acquire("door");
        const auto before = held.token();
        alice.reset();
        lease next = co_await bob.async_acquire("door", {.wait_max = 10s});
        EXPECT_GT(next.token().value, before.value);
        EXPECT_EQ(held.state(), lease_state::lost);
        EXPECT_EQ(held.check(), errc::client_stopped);
        co_await bob.async_stop();
    }(h()));
    // A store at several servers has the answers of most when the next one is let in.
    EXPECT_TRUE(h().residue_becomes(0, 10s)) << h().left();
}

TEST_P(LockConformance, StopCompletesWaitersReleasesLeasesAndRefusesMore) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await bob.async_acquire("window");
        lease other = co_await alice.async_acquire("door");
        error_code waited;
        asio::co_spawn(
            co_await asio::this_coro::executor,
            [](lock_client& client, error_code& out) -> asio::awaitable<void> {
                auto result = co_await client.async_acquire(
                    "door", lock_options(), asio::as_tuple(asio::deferred)
                );
                out = std::get<0>(result);
            }(bob, waited),
            asio::detached
        );
        co_await queued(alice, "door", 1, harness);
        co_await bob.async_stop();
        co_await until(harness, [&] { return static_cast<bool>(waited); });
        EXPECT_EQ(waited, errc::client_stopped);
        EXPECT_EQ(held.check(), errc::client_stopped);
        auto late =
            co_await bob.async_acquire("door", lock_options(), asio::as_tuple(asio::deferred));
        EXPECT_EQ(std::get<0>(late), errc::client_stopped);
        const auto freed = co_await alice.async_try_acquire("window");
        EXPECT_TRUE(freed.has_value());
        co_await alice.async_stop();
        co_await alice.async_stop();  // twice is no harm
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, TwoStopsAtTheSameTimeAreOne) {
    for (int between = 0; between < 12; ++between) {
        lock_client locks = make_client(h());
        bool held = false;
        locks.async_acquire("door", lock_options(), [&](error_code code, lease) { held = !code; });
        ASSERT_TRUE(h().run_until([&] { return held; }, 10s));
        std::vector<error_code> codes;
        const auto ended = [&](error_code code) { codes.push_back(code); };
        locks.async_stop(ended);
        int handlers = 0;
        h().run_until([&] { return codes.size() == 1 || handlers++ == between; }, 10s);
        locks.async_stop(ended);
        ASSERT_TRUE(h().run_until([&] { return codes.size() == 2; }, 10s));
        EXPECT_EQ(codes, std::vector<error_code>(2)) << between << " handlers between them";
    }
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, ReleaseSaysWhatItFound) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client locks = make_client(harness);
        lease held = co_await locks.async_acquire("door");
        auto first = co_await held.async_release(asio::as_tuple(asio::deferred));
        EXPECT_FALSE(std::get<0>(first));
        auto second = co_await held.async_release(asio::as_tuple(asio::deferred));
        EXPECT_EQ(std::get<0>(second), errc::lease_released);
        lease empty;
        auto none = co_await empty.async_release(asio::as_tuple(asio::deferred));
        EXPECT_EQ(std::get<0>(none), errc::lease_released);
        co_await locks.async_stop();
    }(h()));
}

TEST_P(LockConformance, AReleaseThatIsNeverStartedStillReleases) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        {
            lease held = co_await alice.async_acquire("door");
            auto never = held.async_release(asio::deferred);
            EXPECT_EQ(held.state(), lease_state::released);
        }
        lease next = co_await bob.async_acquire("door", {.wait_max = 5s});
        EXPECT_TRUE(next.held());
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
}

TEST_P(LockConformance, ACancelledWaitLeavesNothing) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        for (const auto type :
             {asio::cancellation_type::terminal,
              asio::cancellation_type::partial,
              asio::cancellation_type::total}) {
            asio::cancellation_signal signal;
            bool done = false;
            error_code code;
            bob.async_acquire(
                "door",
                lock_options(),
                asio::bind_cancellation_slot(
                    signal.slot(),
                    [&](error_code ec, lease) {
                        done = true;
                        code = ec;
                    }
                )
            );
            co_await queued(alice, "door", 1, harness);
            signal.emit(type);
            co_await until(harness, [&] { return done; });
            EXPECT_EQ(code, asio::error::operation_aborted);
            const auto view = co_await alice.async_list("", 10, 10);
            EXPECT_EQ(view.at(0).waiter_count, 0u);
        }
        EXPECT_EQ(bob.stats().cancelled, 3u);
        EXPECT_EQ(bob.stats().waiting, 0u);
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, HundredRoundsOfTwoClientsNeverMeet) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client alice = make_client(harness);
        lock_client bob = make_client(harness);
        int inside = 0;
        int done = 0;
        int rounds = 0;
        std::uint64_t last = 0;
        auto work = [&](lock_client& client) -> asio::awaitable<void> {
            for (int i = 0; i < 100; ++i) {
                lease held = co_await client.async_acquire("door");
                EXPECT_EQ(++inside, 1);
                EXPECT_GT(held.token().value, last);
                last = held.token().value;
                if (i % 10 == 0)
                    co_await pause(harness, 1ms);
                --inside;
                ++rounds;
                co_await held.async_release();
            }
            ++done;
        };
        const auto executor = co_await asio::this_coro::executor;
        for (int i = 0; i < 3; ++i) {
            asio::co_spawn(executor, work(alice), asio::detached);
            asio::co_spawn(executor, work(bob), asio::detached);
        }
        co_await until(harness, [&] { return done == 6; });
        EXPECT_EQ(rounds, 600);
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

}  // namespace
}  // namespace mortise::test
