// SPDX-License-Identifier: BSL-1.0
// A store at two servers with a proof of life each: what fails at one of them must not concern the
// locks of the other.
#include "conformance/client_fixture.hpp"
#include "conformance/port_conformance.hpp"
#include "conformance/server_pair.hpp"

#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

// Users cannot choose this store, so it has no line of its own in the table of guarantees.
MORTISE_CLIENT_SUITES(LockServerPair, server_pair)

class TwoServers : public testing::Test {
protected:
    /// An acquire that goes on by itself.
    struct attempt {
        bool done = false;
        error_code code;
        lease held;
    };

    void begin(lock_client& locks, std::string name, attempt& into, lock_options options = {}) {
        locks.async_acquire(std::move(name), options, [&into](error_code code, lease held) {
            into.done = true;
            into.code = code;
            into.held = std::move(held);
        });
    }

    lease acquire(lock_client& locks, proof_number number) {
        attempt got;
        begin(locks, server_pair::lock_at(number), got);
        EXPECT_TRUE(pair_.run_until([&] { return got.done; }, 10s));
        EXPECT_FALSE(got.code) << got.code.message();
        return std::move(got.held);
    }

    error_code stop(lock_client& locks) {
        bool done = false;
        error_code code;
        locks.async_stop([&](error_code failed) {
            done = true;
            code = failed;
        });
        EXPECT_TRUE(pair_.run_until([&] { return done; }, 10s));
        return code;
    }

    server_pair pair_;
};

TEST_F(TwoServers, ALossAtOneLeavesTheLeasesOfTheOtherHeld) {
    lock_client alice = make_client(pair_);
    lease healthy = acquire(alice, 0);
    lease doomed = acquire(alice, 1);
    clock::time_point warned_at;
    doomed.async_wait_lost([&](error_code) { warned_at = pair_.time()->now(); });
    bool healthy_warned = false;
    healthy.async_wait_lost([&](error_code) { healthy_warned = true; });

    pair_.cut_off(1);
    const auto cut = pair_.time()->now();
    ASSERT_TRUE(pair_.run_until([&] { return warned_at != clock::time_point(); }, pair_.ttl()));
    EXPECT_TRUE(doomed.held()) << "the holder is told before the loss can be true";
    const auto until = doomed.valid_until();
    EXPECT_LE(until, cut + pair_.ttl());
    ASSERT_TRUE(pair_.run_until(
        [&] {
            EXPECT_TRUE(healthy.held());
            return doomed.state() != lease_state::held;
        },
        pair_.ttl()
    ));
    EXPECT_EQ(doomed.state(), lease_state::unsure);
    EXPECT_GE(pair_.time()->now(), until);

    pair_.pass(3 * pair_.ttl());  // The server ends the session at the next call of anybody.
    EXPECT_TRUE(healthy.held());
    pair_.heal();
    ASSERT_TRUE(pair_.run_until([&] { return doomed.state() == lease_state::lost; }, 5s));
    EXPECT_EQ(doomed.check(), errc::lease_lost);
    EXPECT_TRUE(healthy.held());
    EXPECT_FALSE(healthy_warned);
    const lease again = acquire(alice, 1);
    EXPECT_TRUE(again.held()) << "by a new session at that server";
    EXPECT_GT(again.token().value, doomed.token().value);
    EXPECT_EQ(stop(alice), error_code());
    EXPECT_EQ(pair_.residue(), 0u);
}

TEST_F(TwoServers, AnOutageOfOneHoldsUpNobodyAtTheOther) {
    lock_client alice = make_client(pair_);
    pair_.cut_off(1);
    attempt waits;
    begin(alice, server_pair::lock_at(1), waits);
    lock_options hasty;
    hasty.wait_max = 2s;
    attempt gives_up;
    begin(alice, server_pair::lock_at(1) + "  ", gives_up, hasty);
    const auto since = pair_.time()->now();
    lease held = acquire(alice, 0);
    EXPECT_LE(pair_.time()->now(), since + 100ms);
    ASSERT_TRUE(pair_.run_until([&] { return gives_up.done; }, 5s));
    EXPECT_NE(gives_up.code, errc::busy) << "nobody knows whether somebody has the lock";
    EXPECT_TRUE(gives_up.code == condition::retryable) << gives_up.code.message();
    attempt other;
    begin(alice, server_pair::lock_at(0), other, hasty);
    ASSERT_TRUE(pair_.run_until([&] { return other.done; }, 5s));
    EXPECT_EQ(other.code, errc::busy) << "that server is there: somebody has the lock";
    EXPECT_FALSE(waits.done);
    pair_.heal();
    ASSERT_TRUE(pair_.run_until([&] { return waits.done; }, 10s));
    EXPECT_TRUE(waits.held.held()) << waits.code.message();
    EXPECT_TRUE(held.held());
}

TEST_F(TwoServers, ARestartWithoutMemoryOfOneIsAQuarantineThereOnly) {
    lock_client alice = make_client(pair_);
    lock_client bob = make_client(pair_);
    lease kept = acquire(alice, 0);
    lease forgotten = acquire(alice, 1);
    const auto before = forgotten.token();
    pair_.server(1).restart_after(1ms, false);
    const auto restarted = pair_.time()->now();
    ASSERT_TRUE(pair_.run_until([&] { return forgotten.state() == lease_state::lost; }, 5s));
    EXPECT_TRUE(kept.held());
    attempt waits;
    begin(bob, server_pair::lock_at(1), waits);
    attempt free_there;
    begin(bob, server_pair::lock_at(0) + "  ", free_there);
    ASSERT_TRUE(pair_.run_until([&] { return free_there.done; }, 1s));
    EXPECT_TRUE(free_there.held.held());
    ASSERT_TRUE(pair_.run_until([&] { return waits.done; }, 10s));
    EXPECT_GE(pair_.time()->now(), restarted + pair_.ttl());
    EXPECT_GT(waits.held.token().value, before.value);
    EXPECT_TRUE(kept.held());
}

TEST_F(TwoServers, ARestartWithMemoryOfOneDoubtsItsOwnLeasesOnly) {
    lock_client alice = make_client(pair_);
    lease sure = acquire(alice, 0);
    lease doubted = acquire(alice, 1);
    const auto beats = [&] { return alice.stats().heartbeats; };
    pair_.server(1).restart_after(1ms, true);
    bool unsure = false;
    const auto proved = beats() + 8;
    ASSERT_TRUE(pair_.run_until(
        [&] {
            unsure = unsure || doubted.state() == lease_state::unsure;
            EXPECT_TRUE(sure.held());
            return beats() >= proved;
        },
        10s
    ));
    EXPECT_TRUE(unsure) << "it may have forgotten something";
    EXPECT_TRUE(doubted.held()) << "and has not";
}

TEST_F(TwoServers, AStopEndsTheSessionsThatCanBeReached) {
    lock_client alice = make_client(pair_);
    const lease one = acquire(alice, 0);
    const lease two = acquire(alice, 1);
    pair_.cut_off(1);
    EXPECT_EQ(stop(alice), errc::outcome_unknown);
    EXPECT_EQ(pair_.server(0).sessions() + pair_.server(0).entries(), 0u);
    EXPECT_EQ(pair_.server(1).sessions(), 1u) << "that one ends by its TTL";
}

TEST_F(TwoServers, ListsAndBreaksAreThoseOfBoth) {
    lock_client alice = make_client(pair_);
    const lease one = acquire(alice, 0);
    const lease two = acquire(alice, 1);
    lock_client op = make_client(pair_);
    const bool first_is_less = server_pair::lock_at(0) < server_pair::lock_at(1);
    pair_.run([](lock_client& by, bool in_order, fencing_token token) -> asio::awaitable<void> {
        const auto locks = co_await by.async_list("", 10, 10);
        EXPECT_EQ(locks.size(), 2u);
        if (locks.size() != 2)
            co_return;
        EXPECT_EQ(locks[0].name, server_pair::lock_at(in_order ? 0 : 1));
        EXPECT_EQ(locks[1].name, server_pair::lock_at(in_order ? 1 : 0));
        EXPECT_TRUE(co_await by.async_break(server_pair::lock_at(1), token, "a test"));
        const auto records = co_await by.async_breaks("", 10);
        EXPECT_EQ(records.size(), 1u);
    }(op, first_is_less, two.token()));
    ASSERT_TRUE(pair_.run_until([&] { return two.state() == lease_state::lost; }, 5s));
    EXPECT_TRUE(one.held());
}

}  // namespace
}  // namespace mortise::test
