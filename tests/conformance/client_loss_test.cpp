// SPDX-License-Identifier: BSL-1.0
#include "conformance/client_fixture.hpp"
#include "conformance/detachable_store.hpp"
#include "mortise/with_lock.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

TEST_P(LockConformance, TheHolderIsToldBeforeTheLossCanBeTrue) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const auto line = std::make_shared<faulty_line>();
        lock_client alice(
            harness.executor(), make_detachable(harness.make_store(), line), config_of(harness)
        );
        lock_client bob = make_client(harness);
        lease held = co_await alice.async_acquire("door");
        const machine_delay delay;
        clock::time_point lost_at;
        error_code why;
        clock::time_point taken;
        asio::co_spawn(
            co_await asio::this_coro::executor,
            [](store_harness& hh, lease& l, error_code& code, clock::time_point& at
            ) -> asio::awaitable<void> {
                auto result = co_await l.async_wait_lost(asio::as_tuple(asio::deferred));
                code = std::get<0>(result);
                at = hh.time()->now();
            }(harness, held, why, lost_at),
            asio::detached
        );
        asio::co_spawn(
            co_await asio::this_coro::executor,
            [](store_harness& hh, lock_client& client, clock::time_point& at
            ) -> asio::awaitable<void> {
                lease mine = co_await client.async_acquire("door");
                at = hh.time()->now();
                co_await mine.async_release();
            }(harness, bob, taken),
            asio::detached
        );
        co_await pause(harness, harness.ttl() / 2);
        EXPECT_EQ(held.state(), lease_state::held);  // heartbeats go on
        line->cut = true;
        co_await until(harness, [&] { return static_cast<bool>(why); });
        const auto deadline = held.valid_until();
        EXPECT_EQ(why, errc::lease_expired);
        // The alarm comes before the end of the window.
        EXPECT_LT(lost_at, deadline + harness.lateness(delay));
        co_await until(harness, [&] { return taken != clock::time_point(); });
        EXPECT_LE(deadline, taken);  // and the window ends before the store gives the lock away
        EXPECT_NE(held.state(), lease_state::held);
        EXPECT_TRUE(held.check() == condition::not_held);
        line->cut = false;
        co_await until(harness, [&] { return held.state() == lease_state::lost; });
        EXPECT_EQ(held.check(), errc::lease_lost);
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, AnUnsureLeaseIsHeldAgainWhenAHeartbeatProvesIt) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const auto line = std::make_shared<faulty_line>();
        // A window much shorter than the TTL, so that it ends long before the store acts.
        client_config config = config_of(harness);
        config.clock_drift_ppm = 500'000;
        lock_client alice(harness.executor(), make_detachable(harness.make_store(), line), config);
        lease held = co_await alice.async_acquire("door");
        line->cut = true;
        co_await until(harness, [&] { return held.state() == lease_state::unsure; });
        EXPECT_EQ(held.check(), errc::lease_expired);
        line->cut = false;
        co_await until(harness, [&] { return held.state() != lease_state::unsure; });
        EXPECT_EQ(held.state(), lease_state::held);
        co_await alice.async_stop();
    }(h()));
}

TEST_P(LockConformanceSessions, AWaiterSurvivesTheLossOfItsSession) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const auto line = std::make_shared<faulty_line>();
        lock_client alice = make_client(harness);
        lock_client bob(
            harness.executor(), make_detachable(harness.make_store(), line), config_of(harness)
        );
        lease held = co_await alice.async_acquire("door");
        bool got = false;
        asio::co_spawn(
            co_await asio::this_coro::executor,
            [](lock_client& client, bool& flag) -> asio::awaitable<void> {
                lease mine = co_await client.async_acquire("door");
                flag = mine.held();
                co_await mine.async_release();
            }(bob, got),
            asio::detached
        );
        co_await queued(alice, "door", 1, harness);
        line->cut = true;
        co_await queued(alice, "door", 0, harness);  // its session died at the store
        line->cut = false;
        co_await queued(alice, "door", 1, harness);  // and it stands in the queue with a new one
        co_await held.async_release();
        co_await until(harness, [&] { return got; });
        EXPECT_EQ(bob.stats().sessions, 1u + harness.sessions_of_a_holder());
        co_await alice.async_stop();
        co_await bob.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, GuardRefusesAtTheStartAndAtTheEnd) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client locks = make_client(harness);
        lease held = co_await locks.async_acquire("door");
        auto seven = []() -> asio::awaitable<int> { co_return 7; };
        EXPECT_EQ(co_await held.guard(seven()), 7);
        // Releases inside the guarded work: the result is refused.
        auto release_inside = [](lease& l) -> asio::awaitable<int> {
            co_await l.async_release();
            co_return 7;
        };
        error_code refused;
        try {
            co_await held.guard(release_inside(held));
        } catch (const boost::system::system_error& e) {
            refused = e.code();
        }
        EXPECT_EQ(refused, errc::lease_released);
        // Guards with a lease that is not held: the work does not run at all.
        bool ran = false;
        auto mark = [](bool& flag) -> asio::awaitable<void> {
            flag = true;
            co_return;
        };
        refused = {};
        try {
            co_await held.guard(mark(ran));
        } catch (const boost::system::system_error& e) {
            refused = e.code();
        }
        EXPECT_EQ(refused, errc::lease_released);
        EXPECT_FALSE(ran);
        co_await locks.async_stop();
    }(h()));
}

TEST_P(LockConformance, WithLockStopsItsBodyWhenTheLeaseIsLost) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const auto line = std::make_shared<faulty_line>();
        lock_client locks(
            harness.executor(), make_detachable(harness.make_store(), line), config_of(harness)
        );
        bool stopped = false;
        error_code thrown;
        auto body = [&](const lease& held) -> asio::awaitable<void> {
            line->cut = true;
            try {
                co_await pause(harness, 1h);
            } catch (const boost::system::system_error& e) {
                stopped = e.code() == asio::error::operation_aborted && held.held();
                throw;
            }
        };
        try {
            co_await with_lock(locks, "door", {}, body);
        } catch (const boost::system::system_error& e) {
            thrown = e.code();
        }
        EXPECT_TRUE(stopped);  // told while the lease was still sure
        EXPECT_EQ(thrown, errc::lease_expired);
        line->cut = false;
        co_await locks.async_stop();
    }(h()));
}

TEST_P(LockConformance, WithLockThrowsAfterALossEvenIfTheBodySucceeded) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const auto line = std::make_shared<faulty_line>();
        lock_client locks(
            harness.executor(), make_detachable(harness.make_store(), line), config_of(harness)
        );
        error_code thrown;
        auto body = [&](const lease& held) -> asio::awaitable<int> {
            line->cut = true;
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            while (held.held())
                co_await pause(harness, 5ms);
            line->cut = false;
            co_return 7;
        };
        try {
            co_await with_lock(locks, "door", {}, body);
        } catch (const error& e) {
            thrown = e.code();
            EXPECT_NE(std::string(e.what()).find("door"), std::string::npos);
            EXPECT_FALSE(e.remedy().empty());
        }
        EXPECT_TRUE(thrown == condition::not_held);
        co_await locks.async_stop();
    }(h()));
}

TEST_P(LockConformance, WithLockGivesTheValueOrTheExceptionAndReleases) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client locks = make_client(harness);
        const int value = co_await with_lock(
            locks,
            "door",
            {.wait_max = 1s},
            [&](const lease& held) -> asio::awaitable<int> {
                co_await pause(harness, 1ms);
                co_return held.token() ? 7 : 0;
            }
        );
        EXPECT_EQ(value, 7);
        std::string message;
        auto fails = [](const lease&) -> asio::awaitable<std::string> {
            throw std::runtime_error("the body's own");
            co_return "";
        };
        try {
            co_await with_lock(locks, "door", {}, fails);
        } catch (const std::runtime_error& e) {
            message = e.what();
        }
        EXPECT_EQ(message, "the body's own");
        const auto free = co_await locks.async_try_acquire("door");
        EXPECT_TRUE(free.has_value());
        error_code busy;
        try {
            co_await with_lock(locks, "door", {.wait_max = 10ms}, fails);
        } catch (const error& e) {
            busy = e.code();
        }
        EXPECT_EQ(busy, errc::busy);
        error_code nameless;
        try {
            co_await with_lock(locks, "", {}, fails);
        } catch (const error& e) {
            nameless = e.code();
            EXPECT_FALSE(e.remedy().empty());
        }
        EXPECT_EQ(nameless, errc::name_empty);
        co_await locks.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(LockConformance, CancellingWithLockStopsTheBodyAndReleases) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        lock_client locks = make_client(harness);
        asio::cancellation_signal signal;
        bool inside = false;
        bool ended = false;
        error_code thrown;
        auto body = [&](const lease&) -> asio::awaitable<void> {
            inside = true;
            co_await pause(harness, 1h);
        };
        auto outer = [&]() -> asio::awaitable<void> {
            try {
                co_await with_lock(locks, "door", {}, body);
            } catch (const boost::system::system_error& e) {
                thrown = e.code();
            }
        };
        asio::co_spawn(
            co_await asio::this_coro::executor,
            outer(),
            asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr) { ended = true; })
        );
        co_await until(harness, [&] { return inside; });
        signal.emit(asio::cancellation_type::terminal);
        co_await until(harness, [&] { return ended; });
        EXPECT_EQ(thrown, asio::error::operation_aborted);
        const auto free = co_await locks.async_try_acquire("door");
        EXPECT_TRUE(free.has_value());
        co_await locks.async_stop();
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

}  // namespace
}  // namespace mortise::test
