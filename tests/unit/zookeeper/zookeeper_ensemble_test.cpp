// SPDX-License-Identifier: BSL-1.0
// Locks at an ensemble of three servers that die, stand still, or have no quorum.
#include "support/machine_delay.hpp"
#include "unit/zookeeper/contest.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace mortise::test::zookeeper_ensemble_test {
namespace {

using namespace std::chrono_literals;

const std::vector<std::size_t> all = {0, 1, 2};
constexpr auto busy = 500ms;  ///< The machine's delay that may cost a lease.

class ZooKeeperEnsemble : public testing::Test {
protected:
    ZooKeeperEnsemble() {
        servers.await_service();
        leader = servers.member_with("leader");
        for (const auto each : all) {
            if (each != leader)
                followers.push_back(each);
        }
    }

    bool becomes_follower(std::size_t member) {
        return eventually([&] { return servers.role(member) == "follower"; });
    }

    void kill(const std::vector<std::size_t>& members) {
        for (const auto each : members)
            servers.kill(each);
    }
    void start(const std::vector<std::size_t>& members) {
        for (const auto each : members)
            servers.start(each);
    }

    // Returns when the holder has proved its lease, which the waiter wants.
    static void
    hold_and_want(contest& round, contest::contender& holder, contest::contender& waiter) {
        round.acquire(holder);
        EXPECT_TRUE(round.reaches([&] { return holder.grants == 1; })) << round.explain();
        round.acquire(waiter);
        EXPECT_TRUE(round.reaches([&] { return holder.held.contended(); })) << round.explain();
        EXPECT_TRUE(round.beats_more(holder, 2)) << round.explain();
    }

    // Those that are killed are two, and stay away until the lease is lost.
    void lose_lease_without(const std::vector<std::size_t>& killed) {
        contest round(servers, 1s);
        auto& alice = round.join(all);
        auto& bob = round.join(all);
        hold_and_want(round, alice, bob);
        const machine_delay delay;
        kill(killed);
        EXPECT_TRUE(round.reaches([&] { return alice.lost_at.has_value(); }));
        EXPECT_LT(*alice.lost_at, *alice.valid_until + 50ms + delay.so_far());
        start(killed);
        EXPECT_TRUE(round.reaches([&] { return bob.grants == 1; })) << round.explain();
        EXPECT_GT(bob.token, alice.token);
        EXPECT_GE(bob.granted_at, *alice.valid_until);
        EXPECT_EQ(round.holders_max(), 1u);
        servers.await_service();
    }

    zookeeper_ensemble& servers = shared_ensemble();
    std::size_t leader = 0;
    std::vector<std::size_t> followers;
};

TEST_F(ZooKeeperEnsemble, HandsALockOverWhileItsLeaderIsKilled) {
    constexpr std::size_t clients = 4;
    constexpr std::uint64_t turns = 10;
    contest round(servers, 3s);
    std::vector<contest::contender*> contenders;
    for (std::size_t i = 0; i < clients; ++i)
        contenders.push_back(&round.join(all));
    for (auto* each : contenders)
        round.take_turns(*each);
    const auto each_has = [&](std::uint64_t more) {
        std::vector<std::uint64_t> wanted;
        for (auto* each : contenders)
            wanted.push_back(round.run([&] { return each->grants; }) + more);
        return round.reaches([&] {
            for (std::size_t i = 0; i < clients; ++i) {
                if (contenders[i]->grants < wanted[i])
                    return false;
            }
            return true;
        });
    };
    EXPECT_TRUE(each_has(turns)) << round.explain();
    servers.kill(leader);
    EXPECT_TRUE(each_has(turns)) << round.explain();
    servers.start(leader);
    servers.await_service();
    EXPECT_TRUE(each_has(turns)) << round.explain();
    round.end_turns();
    EXPECT_EQ(round.holders_max(), 1u);
    for (auto* each : contenders)
        EXPECT_EQ(each->refusals, std::vector<error_code>()) << round.explain();
}

TEST_F(ZooKeeperEnsemble, KeepsALeaseWhileEachServerIsStartedAgain) {
    contest round(servers, 8s);  // a busy machine must not cost the lease
    auto& alice = round.join(all);
    round.acquire(alice);
    EXPECT_TRUE(round.reaches([&] { return alice.grants == 1; })) << round.explain();
    for (const auto each : all) {
        servers.kill(each);
        servers.start(each);
        servers.await_service();
        EXPECT_TRUE(round.beats_more(alice, 1)) << round.explain();
        const bool held = round.run([&] { return alice.held.held(); });
        EXPECT_TRUE(held) << round.explain();
    }
}

TEST_F(ZooKeeperEnsemble, WithoutAQuorumLosesALeaseInTimeAndServesTheWaiterLater) {
    lose_lease_without(followers);
}

TEST_F(ZooKeeperEnsemble, WithoutALeaderAndAQuorumLosesALeaseInTimeAndServesTheWaiterLater) {
    lose_lease_without({leader, followers[0]});
}

TEST_F(ZooKeeperEnsemble, ReleasesALockThatIsGivenUpWithoutAQuorumWhenThereIsOne) {
    contest round(servers, 20s);  // a busy machine must not cost the lease
    auto& alice = round.join(all);
    auto& bob = round.join(all);
    round.acquire(alice);
    EXPECT_TRUE(round.reaches([&] { return alice.grants == 1; })) << round.explain();
    round.acquire(bob);
    EXPECT_TRUE(round.reaches([&] { return alice.held.contended(); })) << round.explain();
    kill({leader, followers[0]});
    EXPECT_TRUE(round.run([&] { return alice.held.held(); })) << round.explain();
    round.release(alice);
    start({leader, followers[0]});
    EXPECT_TRUE(round.reaches([&] { return bob.grants == 1; })) << round.explain();
    for (const auto* each : {&alice, &bob})
        EXPECT_EQ(round.run([&] { return each->locks->stats().sessions; }), 1u);
    EXPECT_EQ(round.holders_max(), 1u);
    servers.await_service();
}

TEST_F(ZooKeeperEnsemble, KeepsALeaseWhileAFollowerStandsStill) {
    contest round(servers, 8s);  // a busy machine must not cost the lease
    auto& alice = round.join(followers);
    round.acquire(alice);
    EXPECT_TRUE(round.reaches([&] { return alice.grants == 1; })) << round.explain();
    // When the second is suspended, the client is surely connected to it.
    for (const auto each : followers) {
        const machine_delay delay;
        servers.suspend(each);
        const auto beats = round.run([&] { return alice.locks->stats().heartbeats; });
        EXPECT_TRUE(round.reaches([&] {
            return alice.lost_at || alice.locks->stats().heartbeats >= beats + 2;
        })) << round.explain();
        servers.resume(each);
        const bool held = round.run([&] { return alice.held.held(); });
        EXPECT_TRUE(held) << delay.so_far().count() << ' ' << round.explain();
        EXPECT_TRUE(becomes_follower(each));
    }
}

TEST_F(ZooKeeperEnsemble, LosesALeaseInTimeWhileItsLeaderStandsStill) {
    contest round(servers, 1s);
    auto& alice = round.join(all);
    auto& bob = round.join(all);
    hold_and_want(round, alice, bob);
    const machine_delay delay;
    servers.suspend(leader);
    EXPECT_TRUE(round.reaches([&] { return alice.lost_at.has_value(); })) << round.explain();
    EXPECT_LT(*alice.lost_at, *alice.valid_until + 50ms + delay.so_far());
    EXPECT_TRUE(round.reaches([&] { return bob.grants == 1; })) << round.explain();
    EXPECT_GE(bob.granted_at, *alice.valid_until);
    servers.resume(leader);
    EXPECT_TRUE(becomes_follower(leader));
    EXPECT_TRUE(round.beats_more(bob, 1)) << round.explain();
    EXPECT_TRUE(delay.so_far() > busy || round.run([&] { return bob.held.held(); }))
        << round.explain();
    EXPECT_EQ(round.holders_max(), 1u);
}

}  // namespace
}  // namespace mortise::test::zookeeper_ensemble_test
