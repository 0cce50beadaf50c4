// SPDX-License-Identifier: BSL-1.0
// A session that moves to a server which keeps sessions for less than its TTL.
#include "unit/zookeeper/contest.hpp"
#include "unit/zookeeper/relays.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mortise::test::zookeeper_shorter_session_test {
namespace {

using namespace std::chrono_literals;

class ZooKeeperShorterSession : public testing::Test {
protected:
    ZooKeeperShorterSession() { servers.restart_with(short_one, {"maxSessionTimeout=6000"}); }

    std::uint16_t relay_to(std::size_t member) {
        return between.between(client, member, servers.port(member));
    }
    void refuse(std::size_t member, bool refused) {
        between.with(client, member, [refused](tcp_relay& relay) {
            relay.refuse(refused);
            if (refused)
                relay.end_connections();
        });
    }

    static constexpr std::size_t client = 3;  ///< In the names of relays.
    static constexpr std::size_t usual_one = 0;
    static constexpr std::size_t short_one = 2;
    zookeeper_ensemble servers{3};
    relays between;
};

// Leases would be believed in for longer than that server keeps their nodes.
TEST_F(ZooKeeperShorterSession, IsGivenUpAndItsLocksPassOnAtOnce) {
    contest round(servers, 40s);  // its heartbeats are 13 s apart
    const auto usual = relay_to(usual_one);
    const auto other = relay_to(short_one);
    refuse(short_one, true);
    auto& alice = round.join_at({usual, other});
    auto& bob = round.join({usual_one});
    round.acquire(alice);
    ASSERT_TRUE(round.reaches([&] { return alice.grants == 1; })) << round.explain();
    round.acquire(bob);
    EXPECT_TRUE(round.reaches([&] { return alice.held.contended(); })) << round.explain();
    refuse(short_one, false);
    refuse(usual_one, true);
    const auto moved = clock::now();
    EXPECT_TRUE(round.reaches([&] { return bob.grants == 1; })) << round.explain();
    EXPECT_LT(clock::now() - moved, 10s) << "nobody waits for the end of the session";
    EXPECT_TRUE(round.run([&] { return alice.lost_at.has_value(); })) << round.explain();
    EXPECT_FALSE(round.run([&] { return alice.held.held(); }));
    EXPECT_EQ(round.holders_max(), 1u);
}

}  // namespace
}  // namespace mortise::test::zookeeper_shorter_session_test
