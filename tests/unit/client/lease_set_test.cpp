// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/sleep.hpp"
#include "mortise/lease_set.hpp"
#include "mortise/with_lock.hpp"
#include "support/print.hpp"
#include "unit/client/client_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using name_list = std::vector<std::string>;

/// The result of an acquire of several locks.
struct set_outcome {
    set_outcome() = default;

    bool done = false;
    error_code code;
    lease_set held;
};

auto record_set(set_outcome& into) {
    return [&into](error_code code, lease_set held) {
        EXPECT_FALSE(into.done) << "completed twice";
        into.done = true;
        into.code = code;
        into.held = std::move(held);
    };
}

/// Acquires all of them, and expects that it succeeds.
lease_set acquire_set(client_world& world, lock_client& locks, name_list names) {
    set_outcome outcome;
    locks.async_acquire_all(std::move(names), lock_options(), record_set(outcome));
    EXPECT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_FALSE(outcome.code) << outcome.code.message();
    return std::move(outcome.held);
}

name_list names_in(const lease_set& set) {
    name_list names;
    for (const lease& each : set)
        names.emplace_back(each.name());
    return names;
}

void break_grant(
    client_world& world, lock_client& by, const std::string& name, fencing_token token
) {
    bool done = false;
    by.async_break(name, token, "test", [&](error_code, bool was) {
        EXPECT_TRUE(was);
        done = true;
    });
    EXPECT_TRUE(world.run_until([&] { return done; }));
}

TEST(LeaseSet, IsInTheOrderOfItsNamesAndHasEachOnce) {
    client_world world;
    lock_client alice = world.client();
    // '\xff' stands behind every letter: bytes are compared, and not signed characters.
    const lease_set held = acquire_set(world, alice, {"b", "\xff", "a", "b", "ab", "a", "b"});
    EXPECT_EQ(names_in(held), (name_list{"a", "ab", "b", "\xff"}));
    EXPECT_EQ(world.server.entries(), 4u);
    EXPECT_TRUE(held.held());
    EXPECT_EQ(held.at("ab").name(), "ab");
    EXPECT_EQ(&held.at("b"), &held[2]);
    EXPECT_THROW((void)held.at("c"), std::out_of_range);
    for (const lease& each : held)
        EXPECT_GE(each.valid_until(), held.valid_until());
}

TEST(LeaseSet, IsAcquiredInTheOrderOfItsNames) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    const lease middle = world.acquire(alice, "m");
    set_outcome outcome;
    bob.async_acquire_all({"z", "m", "a"}, lock_options(), record_set(outcome));
    world.pass(10ms);
    EXPECT_FALSE(outcome.done);
    std::vector<lock_view> views;
    bob.async_list("", 10, 10, [&](error_code, std::vector<lock_view> seen) { views = seen; });
    world.pass(1ms);
    ASSERT_EQ(views.size(), 2u);  // what comes behind the one that is waited for is not touched
    EXPECT_EQ(views[0].name, "a");
    EXPECT_EQ(views[0].holders.size(), 1u);
    EXPECT_EQ(views[1].name, "m");
    EXPECT_EQ(views[1].waiter_count, 1u);
    world.stop(bob);
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_EQ(outcome.code, errc::client_stopped);
}

TEST(LeaseSet, AContextMayEndWhileOneIsWaitedForAndTheClientIsGone) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    const lease held = world.acquire(alice, "b");
    set_outcome outcome;
    bob.async_acquire_all({"a", "b"}, lock_options(), record_set(outcome));
    world.pass(10ms);
    EXPECT_EQ(bob.stats().waiting, 1u);
}

TEST(LeaseSet, TwoThatWantTheSameLocksDoNotBlockEachOther) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    int done = 0;
    const std::function<void(lock_client&, name_list, int)> again =
        [&](lock_client& locks, name_list names, int left) {
            locks.async_acquire_all(
                names,
                lock_options(),
                [&, names, left](error_code code, lease_set held) {
                    EXPECT_FALSE(code);
                    EXPECT_EQ(world.server.entries() >= 2, held.held());
                    ++done;
                    if (left > 1)
                        again(locks, names, left - 1);
                }
            );
        };
    again(alice, {"a", "b"}, 20);
    again(bob, {"b", "a"}, 20);
    again(alice, {"b", "a"}, 20);
    EXPECT_TRUE(world.run_until([&] { return done == 60; }));
}

TEST(LeaseSet, OfNoNamesIsRefused) {
    client_world world;
    lock_client alice = world.client();
    set_outcome none;
    alice.async_acquire_all({}, lock_options(), record_set(none));
    set_outcome bad;
    alice.async_acquire_all({"a", ""}, lock_options(), record_set(bad));
    ASSERT_TRUE(world.run_until([&] { return none.done && bad.done; }));
    EXPECT_EQ(none.code, errc::names_missing);
    EXPECT_EQ(bad.code, errc::name_empty);
    EXPECT_TRUE(bad.held.empty());
    EXPECT_EQ(world.server.entries(), 0u);
}

TEST(LeaseSet, ATimeOutIsForAllTogetherAndLeavesNone) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease first = world.acquire(alice, "a");
    const lease last = world.acquire(alice, "c");
    const auto start = world.time->now();
    set_outcome outcome;
    bob.async_acquire_all({"a", "b", "c"}, {.wait_max = 100ms}, record_set(outcome));
    world.time->async_wait_until(start + 60ms, [&](error_code) { first = lease(); });
    world.pass(90ms);
    EXPECT_EQ(bob.stats().leases, 2u);
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_EQ(outcome.code, errc::busy);
    EXPECT_TRUE(outcome.held.empty());
    EXPECT_EQ(world.time->now() - start, 100ms);
    EXPECT_EQ(world.server.entries(), 1u);  // Alice's
    EXPECT_EQ(bob.stats().leases + bob.stats().waiting, 0u);
}

TEST(LeaseSet, IsRefusedWithOptionsThatNoLockMayHave) {
    client_world world;
    lock_client alice = world.client();
    set_outcome outcome;
    alice.async_acquire_all({"a", "b"}, {.wait_max = -1ms}, record_set(outcome));
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    acquire_outcome single;
    alice.async_acquire("a", {.wait_max = -1ms}, world.record(single));
    ASSERT_TRUE(world.run_until([&] { return single.done; }));
    EXPECT_TRUE(single.code);
    EXPECT_EQ(outcome.code, single.code);
}

TEST(LeaseSet, ATryTakesAllOrNone) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease held = world.acquire(alice, "b");
    set_outcome refused;
    bob.async_acquire_all({"a", "b"}, {.wait_max = 0ms}, record_set(refused));
    ASSERT_TRUE(world.run_until([&] { return refused.done; }));
    EXPECT_EQ(refused.code, errc::busy);
    EXPECT_EQ(world.server.entries(), 1u);
    held = lease();
    world.pass(1ms);
    set_outcome granted;
    bob.async_acquire_all({"a", "b"}, {.wait_max = 0ms}, record_set(granted));
    ASSERT_TRUE(world.run_until([&] { return granted.done; }));
    EXPECT_FALSE(granted.code);
}

TEST(LeaseSet, TheLossOfAnEarlyOneWhileALateOneIsWaitedForLeavesNone) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease last = world.acquire(alice, "b");
    set_outcome outcome;
    bob.async_acquire_all({"a", "b"}, lock_options(), record_set(outcome));
    world.pass(10ms);
    fencing_token early;
    alice.async_inspect("a", 0, [&](error_code, std::optional<lock_view> view) {
        if (view)
            early = view->holders.at(0).token;
    });
    world.pass(1ms);
    break_grant(world, alice, "a", early);
    world.pass(10ms);
    last = lease();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_EQ(outcome.code, errc::lease_lost);
    EXPECT_TRUE(outcome.held.empty());
    world.pass(10ms);
    EXPECT_EQ(world.server.entries(), 0u);
    EXPECT_EQ(bob.stats().leases, 0u);
}

TEST(LeaseSet, ReleasesAllAndSaysWhatWasLost) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    lease_set held = acquire_set(world, alice, {"a", "b", "c"});
    break_grant(world, bob, "b", held.at("b").token());
    EXPECT_TRUE(world.run_until([&] { return !held.at("b").held(); }));
    EXPECT_EQ(held.check(), errc::lease_lost);
    EXPECT_FALSE(held.held());
    bool done = false;
    error_code result;
    held.async_release([&](error_code code) {
        done = true;
        result = code;
    });
    EXPECT_TRUE(held.empty());
    ASSERT_TRUE(world.run_until([&] { return done; }));
    EXPECT_EQ(result, errc::lease_lost);
    EXPECT_EQ(world.server.entries(), 0u);

    // An empty set has nothing to release, to lose or to hold.
    done = false;
    // It knows no client, and so no executor but the handler's own.
    held.async_release(asio::bind_executor(world.context, [&](error_code code) {
        done = true;
        result = code;
    }));
    ASSERT_TRUE(world.run_until([&] { return done; }));
    EXPECT_EQ(result, errc::lease_released);
    EXPECT_FALSE(held.held());
}

TEST(LeaseSet, ADestroyedSetReleases) {
    client_world world;
    lock_client alice = world.client();
    {
        const lease_set held = acquire_set(world, alice, {"a", "b"});
        EXPECT_EQ(world.server.entries(), 2u);
    }
    world.pass(10ms);
    EXPECT_EQ(world.server.entries(), 0u);
    EXPECT_EQ(alice.stats().released_late, 2u);
}

TEST(LeaseSet, AWaitForALossEndsWithTheFirstOfThem) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    const lease_set held = acquire_set(world, alice, {"a", "b", "c"});
    bool done = false;
    error_code why;
    held.async_wait_lost([&](error_code code) {
        EXPECT_FALSE(done);
        done = true;
        why = code;
    });
    world.pass(10s);
    EXPECT_FALSE(done);
    break_grant(world, bob, "c", held.at("c").token());
    ASSERT_TRUE(world.run_until([&] { return done; }));
    EXPECT_EQ(why, errc::lease_lost);
    EXPECT_TRUE(held.at("a").held());

    // Begun after the loss: at once.
    done = false;
    held.async_wait_lost([&](error_code code) {
        done = true;
        why = code;
    });
    world.pass(1ms);
    EXPECT_TRUE(done);
    EXPECT_EQ(why, errc::lease_lost);
}

TEST(LeaseSet, AWaitForALossCanBeCancelled) {
    client_world world;
    lock_client alice = world.client();
    const lease_set held = acquire_set(world, alice, {"a", "b"});
    for (const auto type : cancellation_types) {
        asio::cancellation_signal stop;
        bool done = false;
        error_code why;
        held.async_wait_lost(asio::bind_cancellation_slot(stop.slot(), [&](error_code code) {
            done = true;
            why = code;
        }));
        world.pass(10ms);
        stop.emit(type);
        world.pass(1ms);
        EXPECT_TRUE(done);
        EXPECT_EQ(why, asio::error::operation_aborted);
    }
    EXPECT_TRUE(held.held());
}

/// The place of the locks when an acquire of "a", "b" and "c" is cancelled.
enum class set_scene { free, first_held, middle_held };

/// One run: the signal comes before the n-th handler. @return whether the run ended untouched.
bool run_set_cancelled_at(
    set_scene setting, bool with_session, asio::cancellation_type type, std::size_t step
) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    if (with_session) {
        lease first = world.acquire(bob, "first");
        first = lease();
        world.pass(1ms);
    }
    lease held;
    if (setting != set_scene::free)
        held = world.acquire(alice, setting == set_scene::first_held ? "a" : "b");
    world.time->async_wait_until(world.time->now() + 10ms, [&](error_code) { held = lease(); });
    set_outcome outcome;
    asio::cancellation_signal signal;
    bob.async_acquire_all(
        {"c", "b", "a"},
        lock_options(),
        asio::bind_cancellation_slot(signal.slot(), record_set(outcome))
    );
    std::size_t handlers = 0;
    world.time->run_while(world.context, [&] { return !outcome.done && handlers++ < step; });
    const bool untouched = outcome.done;
    if (!untouched)
        signal.emit(type);
    EXPECT_TRUE(world.run_until([&] { return outcome.done; }));
    if (outcome.code) {
        EXPECT_FALSE(untouched);
        EXPECT_EQ(outcome.code, asio::error::operation_aborted);
        EXPECT_TRUE(outcome.held.empty());
    } else {
        EXPECT_EQ(outcome.held.size(), 3u);
        EXPECT_TRUE(outcome.held.held());
    }
    EXPECT_EQ(bob.stats().waiting, 0u);
    EXPECT_EQ(bob.stats().leases, outcome.held.size());
    world.pass(20ms);  // Alice has released by now
    EXPECT_EQ(world.server.entries(), outcome.held.size());
    outcome.held = lease_set();
    world.pass(20ms);
    EXPECT_EQ(world.server.entries(), 0u);
    world.stop(alice);
    world.stop(bob);
    EXPECT_EQ(world.server.sessions(), 0u);
    return untouched;
}

class LeaseSetSweep : public testing::TestWithParam<asio::cancellation_type> {};

TEST_P(LeaseSetSweep, ACancelledAcquireLeavesNoneAtWhateverStep) {
    for (const bool with_session : {false, true}) {
        for (const auto setting :
             {set_scene::free, set_scene::first_held, set_scene::middle_held}) {
            std::size_t step = 0;
            while (!run_set_cancelled_at(setting, with_session, GetParam(), step)) {
                ++step;
                ASSERT_LT(step, 10'000u);
                ASSERT_FALSE(HasFailure()) << "scene " << static_cast<int>(setting) << ' '
                                           << with_session << ", before handler " << step;
            }
            EXPECT_GE(step, 4u) << "the sweep must have cancelled something";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, LeaseSetSweep, testing::ValuesIn(cancellation_types), param_name());

/// `with_lock` over "a" and "b", whose body sleeps.
class guarded_sleep {
public:
    guarded_sleep(client_world& world, lock_client& locks, clock::duration length)
        : world_(world), locks_(locks), length_(length) {
        asio::co_spawn(
            world.context,
            run(),
            asio::bind_cancellation_slot(
                stop.slot(),
                [this](std::exception_ptr failure) {
                    ended = true;
                    if (!failure)
                        return;
                    try {
                        std::rethrow_exception(failure);
                    } catch (const boost::system::system_error& e) {
                        code = e.code();
                    }
                }
            )
        );
    }

    asio::cancellation_signal stop;
    bool began = false;
    bool stopped = false;
    bool ended = false;
    std::size_t result = 0;
    error_code code;
    fencing_token token;  // of "b"

private:
    asio::awaitable<void> run() {
        const name_list names{"b", "a"};
        result = co_await with_lock(locks_, names, lock_options(), [this](const lease_set& held) {
            return doze(held);
        });
    }

    asio::awaitable<std::size_t> doze(const lease_set& held) {
        began = true;
        token = held.at("b").token();
        try {
            co_await coro::sleep_for(*world_.time, length_);
        } catch (const boost::system::system_error&) {
            stopped = true;
            throw;
        }
        co_return held.size();
    }

    client_world& world_;
    lock_client& locks_;
    clock::duration length_;
};

TEST(WithLocks, RunsUnderAllAndReleasesAll) {
    client_world world;
    lock_client alice = world.client();
    guarded_sleep run(world, alice, 50ms);
    world.pass(10ms);
    EXPECT_TRUE(run.began);
    EXPECT_EQ(world.server.entries(), 2u);
    ASSERT_TRUE(world.run_until([&] { return run.ended; }));
    EXPECT_FALSE(run.code);
    EXPECT_EQ(run.result, 2u);
    EXPECT_EQ(world.server.entries(), 0u);
}

TEST(WithLocks, TheLossOfOneStopsTheBodyAndReleasesTheOthers) {
    client_world world;
    lock_client alice = world.client();
    lock_client bob = world.client();
    guarded_sleep run(world, alice, 1h);
    ASSERT_TRUE(world.run_until([&] { return run.began; }));
    break_grant(world, bob, "b", run.token);
    ASSERT_TRUE(world.run_until([&] { return run.ended; }));
    EXPECT_TRUE(run.stopped);
    EXPECT_EQ(run.code, errc::lease_lost);
    EXPECT_EQ(world.server.entries(), 0u);
    EXPECT_EQ(alice.stats().leases, 0u);
}

/// One run: the signal comes before the n-th handler. @return whether the body had begun by then.
bool run_with_locks_cancelled_at(std::size_t step) {
    client_world world;
    lock_client alice = world.client();
    guarded_sleep run(world, alice, 30s);
    std::size_t handlers = 0;
    world.time->run_while(world.context, [&] { return handlers++ < step; });
    const bool began = run.began;
    run.stop.emit(asio::cancellation_type::terminal);
    EXPECT_TRUE(world.run_until([&] { return run.ended; }));
    EXPECT_EQ(run.stopped, run.began);
    EXPECT_EQ(run.code, asio::error::operation_aborted);
    world.pass(10ms);
    EXPECT_EQ(world.server.entries(), 0u);
    return began;
}

TEST(WithLocks, ACancellationAtWhateverStepIsHeard) {
    std::size_t step = 0;
    for (int inside = 0; inside < 5; ++step) {
        inside += run_with_locks_cancelled_at(step);
        ASSERT_LT(step, 10'000u);
        ASSERT_FALSE(HasFailure()) << "cancelled before handler " << step;
    }
    EXPECT_GE(step, 7u) << "some of the steps come before the body";
}

}  // namespace
}  // namespace mortise::test
