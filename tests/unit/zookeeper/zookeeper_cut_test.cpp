// SPDX-License-Identifier: BSL-1.0
// A follower that does not hear its leader, or is not heard by it, and serves its clients still.
#include "unit/zookeeper/contest.hpp"
#include "unit/zookeeper/relays.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace mortise::test::zookeeper_cut_test {
namespace {

using namespace std::chrono_literals;

/// Which way between a follower and its leader is cut.
enum class cut { both, to_leader, to_follower };

const char* to_string(cut way) {
    constexpr const char* names[] = {"BothWays", "ToTheLeader", "ToTheFollower"};
    return names[static_cast<int>(way)];
}

class ZooKeeperFollowerCut : public testing::TestWithParam<cut> {
protected:
    void hold(bool held) {
        using way = tcp_relay::way;
        if (GetParam() != cut::to_follower)
            shared.between.hold(follower, leader, way::to_server, held);
        if (GetParam() != cut::to_leader)
            shared.between.hold(follower, leader, way::to_client, held);
    }

    relayed_servers& shared = shared_relayed_servers();
    zookeeper_ensemble& servers = shared.servers;
    const std::size_t leader = servers.member_with("leader");
    const std::size_t follower = servers.member_with("follower");
};

// With a well-known recipe two clients held a lock for 4.4 s (docs/adr/0039).
TEST_P(ZooKeeperFollowerCut, LosesTheLeaseBeforeTheLeaderGivesTheLockAway) {
    contest round(servers, 1s);
    auto& alice = round.join({follower});
    auto& bob = round.join({leader, 3 - leader - follower});
    round.acquire(alice);
    EXPECT_TRUE(round.reaches([&] { return alice.grants == 1; })) << round.explain();
    round.acquire(bob);
    EXPECT_TRUE(round.beats_more(alice, 2)) << round.explain();
    hold(true);
    EXPECT_TRUE(round.reaches([&] { return bob.grants == 1; })) << round.explain();
    EXPECT_EQ(servers.role(follower), "follower") << "it does not serve";
    hold(false);
    EXPECT_TRUE(round.reaches([&] { return alice.lost_at.has_value(); })) << round.explain();
    EXPECT_EQ(round.holders_max(), 1u);
    EXPECT_LT(*alice.valid_until, bob.granted_at);
    EXPECT_TRUE(round.run([&] { return bob.held.held(); })) << round.explain();
}

INSTANTIATE_TEST_SUITE_P(
    Of,
    ZooKeeperFollowerCut,
    testing::Values(cut::both, cut::to_leader, cut::to_follower),
    [](const auto& of) { return std::string(to_string(of.param)); }
);

}  // namespace
}  // namespace mortise::test::zookeeper_cut_test
