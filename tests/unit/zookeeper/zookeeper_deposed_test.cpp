// SPDX-License-Identifier: BSL-1.0
// A leader that was deposed and does not know it: it calls itself the leader, answers reads, and
// knows the sessions of its clients, until it has missed its followers for long enough.
#include "support/machine_delay.hpp"
#include "support/zookeeper_tree.hpp"
#include "unit/zookeeper/contest.hpp"
#include "unit/zookeeper/relays.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace mortise::test::zookeeper_deposed_test {
namespace {

using namespace std::chrono_literals;

/// An ensemble whose leader is cut off while it stands still. Its followers see their connections
/// end, and choose another one; it hears nothing of that when it goes on. The ports of elections
/// are left alone, then: a leader heeds no votes, but by its own vote it would keep its followers.
class ZooKeeperDeposedLeader : public testing::Test {
protected:
    ZooKeeperDeposedLeader() {
        for (std::size_t i = 0; i < servers.size(); ++i) {
            if (i != leader)
                followers.push_back(i);
        }
    }

    void depose() {
        servers.suspend(leader);
        for (const auto each : followers) {
            hold(each, true);
            between.with(each, leader, [](tcp_relay& relay) { relay.send_clients_away(); });
        }
        EXPECT_TRUE(has_successor()) << servers.log(followers[0]);
        servers.resume(leader);
    }
    void mend() {
        for (const auto each : followers) {
            between.with(each, leader, [](tcp_relay& relay) { relay.end_connections(); });
            hold(each, false);
        }
        EXPECT_TRUE(eventually([&] { return servers.role(leader) == "follower"; }));
    }
    void hold(std::size_t follower, bool held) {
        for (const auto each : {tcp_relay::way::to_server, tcp_relay::way::to_client})
            between.hold(follower, leader, each, held);
    }

    bool has_successor() {
        return eventually([&] {
            return std::any_of(followers.begin(), followers.end(), [&](std::size_t each) {
                return servers.role(each) == "leader";
            });
        });
    }

    relays& between = shared_relayed_servers().between;
    zookeeper_ensemble& servers = shared_relayed_servers().servers;
    const std::size_t leader = servers.member_with("leader");
    std::vector<std::size_t> followers;
};

TEST_F(ZooKeeperDeposedLeader, ThatStillServesKeepsNoLease) {
    contest round(servers, 1s);
    auto& alice = round.join({leader});
    auto& bob = round.join(followers);
    round.acquire(alice);
    EXPECT_TRUE(round.reaches([&] { return alice.grants == 1; })) << round.explain();
    round.acquire(bob);
    EXPECT_TRUE(round.reaches([&] { return alice.held.contended(); })) << round.explain();
    EXPECT_TRUE(round.beats_more(alice, 2)) << round.explain();
    zookeeper_tree deposed(servers.address(leader));
    const auto queue = round.root() + "/locks/door";
    EXPECT_EQ(deposed.children(queue).size(), 2u);
    const machine_delay delay;
    depose();
    EXPECT_TRUE(round.reaches([&] { return bob.grants == 1; })) << round.explain();
    EXPECT_EQ(deposed.children(queue).size(), 2u) << "it does not serve";
    EXPECT_EQ(servers.role(leader), "leader") << "it does not serve";
    EXPECT_TRUE(round.reaches([&] { return alice.lost_at.has_value(); })) << round.explain();
    EXPECT_LT(*alice.valid_until, bob.granted_at);
    EXPECT_LT(*alice.lost_at, *alice.valid_until + 50ms + delay.so_far());
    EXPECT_EQ(round.holders_max(), 1u);
    mend();
    round.acquire(alice);
    EXPECT_TRUE(round.reaches([&] { return bob.held.contended(); })) << round.explain();
    round.release(bob);
    EXPECT_TRUE(round.reaches([&] { return alice.grants == 2; })) << round.explain();
    EXPECT_EQ(round.holders_max(), 1u);
}

}  // namespace
}  // namespace mortise::test::zookeeper_deposed_test
