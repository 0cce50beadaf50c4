// SPDX-License-Identifier: BSL-1.0
// The moments at which a signal may come, one by one. The sweeps show that there are no others.
#include "mortise/coro/sleep.hpp"
#include "support/print.hpp"
#include "unit/client/client_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

class CancelledMoment : public testing::TestWithParam<asio::cancellation_type> {
protected:
    void acquire(lock_client& locks) {
        locks.async_acquire(
            "door",
            lock_options(),
            asio::bind_cancellation_slot(signal.slot(), client_world::record(outcome))
        );
    }
    void cancel() { signal.emit(GetParam()); }
    bool done() {
        return world.run_until([this] { return outcome.done; });
    }

    client_world world;
    lock_client alice = world.client();
    asio::cancellation_signal signal;
    acquire_outcome outcome;
};

TEST_P(CancelledMoment, WhileItStandsInTheProcessItEndsAtOnceAndNobodyIsAsked) {
    const lease held = world.acquire(alice, "door");
    acquire(alice);
    world.pass(10ms);
    const auto requests = alice.stats().requests;
    const auto before = world.time->now();
    cancel();
    ASSERT_TRUE(done());
    EXPECT_EQ(outcome.code, asio::error::operation_aborted);
    EXPECT_EQ(world.time->now(), before);
    EXPECT_EQ(alice.stats().requests, requests);
}

TEST_P(CancelledMoment, WhileItStandsAtTheStoreTheRequestIsWithdrawnFirst) {
    lock_client bob = world.client();
    const lease held = world.acquire(bob, "door");
    acquire(alice);
    world.pass(10ms);
    ASSERT_EQ(world.server.entries(), 2u);
    cancel();
    ASSERT_TRUE(done());
    EXPECT_EQ(outcome.code, asio::error::operation_aborted);
    EXPECT_EQ(world.server.entries(), 1u) << "at completion, and not some time later";
}

TEST_P(CancelledMoment, AfterTheGrantWasDecidedTheLeaseIsDelivered) {
    acquire(alice);
    world.time->run_while(world.context, [this] { return alice.stats().granted == 0; });
    ASSERT_FALSE(outcome.done) << "its handler is on the way";
    cancel();
    ASSERT_TRUE(done());
    EXPECT_FALSE(outcome.code);
    EXPECT_TRUE(outcome.held.held());
}

TEST_P(CancelledMoment, WhenTheStoreIsSilentItEndsAfterTheBudgetAndTheUndoingGoesOn) {
    lock_client bob = world.client();
    lease held = world.acquire(alice, "door");
    acquire(bob);
    world.pass(10ms);
    world.server.set_unavailable(true);
    const auto start = world.time->now();
    cancel();
    ASSERT_TRUE(done());
    EXPECT_EQ(outcome.code, asio::error::operation_aborted);
    EXPECT_EQ(world.time->now() - start, 2s);
    EXPECT_EQ(bob.stats().undone_late, 1u);
    EXPECT_EQ(world.server.entries(), 2u);
    world.server.set_unavailable(false);
    world.pass(500ms);
    EXPECT_EQ(world.server.entries(), 1u);
    EXPECT_TRUE(held.held());
}

TEST_P(CancelledMoment, AReleaseIsNotCancelled) {
    lease held = world.acquire(alice, "door");
    bool released = false;
    held.async_release(asio::bind_cancellation_slot(signal.slot(), [&](error_code code) {
        released = true;
        EXPECT_FALSE(code);
    }));
    cancel();
    EXPECT_TRUE(world.run_until([&] { return released; }));
    EXPECT_EQ(world.server.entries(), 0u);
}

TEST_P(CancelledMoment, AStopIsNotCancelled) {
    const lease held = world.acquire(alice, "door");
    bool stopped = false;
    alice.async_stop(asio::bind_cancellation_slot(signal.slot(), [&](error_code code) {
        stopped = true;
        EXPECT_FALSE(code);
    }));
    cancel();
    EXPECT_TRUE(world.run_until([&] { return stopped; }));
    EXPECT_EQ(world.server.sessions() + world.server.entries(), 0u);
}

TEST_P(CancelledMoment, AWaitForALossOrForAChangeEndsAndNothingElse) {
    const lease held = world.acquire(alice, "door");
    asio::cancellation_signal other;
    int ended = 0;
    const auto count = [&](error_code code) {
        ++ended;
        EXPECT_EQ(code, asio::error::operation_aborted);
    };
    lease mine = world.acquire(alice, "window");
    mine.async_wait_lost(asio::bind_cancellation_slot(signal.slot(), count));
    alice.async_watch(asio::bind_cancellation_slot(other.slot(), count));
    world.pass(10ms);
    EXPECT_EQ(ended, 0);
    cancel();
    other.emit(GetParam());
    world.pass(1ms);
    EXPECT_EQ(ended, 2);
    EXPECT_TRUE(held.held());
    EXPECT_TRUE(mine.held());
}

INSTANTIATE_TEST_SUITE_P(
    Types, CancelledMoment, testing::ValuesIn(cancellation_types), param_name()
);

TEST(CancelledCoroutine, ALeaseThatIsDroppedWithItsResultIsReleased) {
    client_world world;
    lock_client alice = world.client();
    bool ended = false;
    asio::co_spawn(
        world.context,
        [&]() -> asio::awaitable<void> {
            // Both are granted in the same moment: one of the leases is nobody's.
            auto either = co_await (
                alice.async_acquire("door", lock_options(), asio::use_awaitable) ||
                alice.async_acquire("window", lock_options(), asio::use_awaitable)
            );
            EXPECT_LE(either.index(), 1u);
        },
        [&](std::exception_ptr failure) {
            ended = true;
            EXPECT_FALSE(failure);
        }
    );
    ASSERT_TRUE(world.run_until([&] { return ended; }));
    world.pass(10ms);
    EXPECT_EQ(world.server.entries(), 0u);
    EXPECT_EQ(alice.stats().leases, 0u);
}

/// A coroutine that waits for a lock which does not come free.
asio::awaitable<void> wait_in_vain(lock_client& locks, bool every_type) {
    if (every_type)
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    auto never = co_await locks.async_acquire("door");
}

TEST(CancelledCoroutine, LetsOnlyTerminalThroughUnlessItSaysOtherwise) {
    client_world world;
    lock_client alice = world.client();
    const lease held = world.acquire(alice, "door");
    for (const bool every_type : {false, true}) {
        asio::cancellation_signal signal;
        bool ended = false;
        asio::co_spawn(
            world.context,
            wait_in_vain(alice, every_type),
            asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr) { ended = true; })
        );
        world.pass(10ms);
        signal.emit(asio::cancellation_type::total);
        world.pass(10ms);
        EXPECT_EQ(ended, every_type);
        signal.emit(asio::cancellation_type::terminal);
        world.pass(10ms);
        EXPECT_TRUE(ended);
    }
    EXPECT_EQ(alice.stats().waiting, 0u);
}

/// Is cancelled while it sleeps under the lock, and then releases it.
asio::awaitable<void>
clean_up(client_world& world, lock_client& locks, bool forgets, error_code& result) {
    auto held = co_await locks.async_acquire("door");
    co_await asio::this_coro::throw_if_cancelled(true);
    bool cancelled = false;
    try {
        co_await coro::sleep_for(*world.time, 1h);
    } catch (const boost::system::system_error&) {
        cancelled = true;
    }
    EXPECT_TRUE(cancelled);
    if (forgets)
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    auto released = co_await held.async_release(asio::as_tuple(asio::deferred));
    result = std::get<0>(released);
}

TEST(CancelledCoroutine, AwaitsNothingMoreUntilItForgetsTheSignal) {
    for (const bool forgets : {false, true}) {
        client_world world;
        lock_client alice = world.client();
        asio::cancellation_signal signal;
        error_code result = errc::unsupported;
        std::exception_ptr failure;
        bool ended = false;
        asio::co_spawn(
            world.context,
            clean_up(world, alice, forgets, result),
            asio::bind_cancellation_slot(
                signal.slot(),
                [&](std::exception_ptr thrown) {
                    ended = true;
                    failure = std::move(thrown);
                }
            )
        );
        ASSERT_TRUE(world.run_until([&] { return alice.stats().leases == 1; }));
        world.pass(10ms);
        signal.emit(asio::cancellation_type::terminal);
        ASSERT_TRUE(world.run_until([&] { return ended; }));
        EXPECT_EQ(failure == nullptr, forgets);
        EXPECT_EQ(result, forgets ? error_code() : error_code(errc::unsupported));
        world.pass(10ms);
        EXPECT_EQ(world.server.entries(), 0u) << "the destructor releases in any case";
        EXPECT_EQ(alice.stats().released_late, forgets ? 0u : 1u);
    }
}

}  // namespace
}  // namespace mortise::test
