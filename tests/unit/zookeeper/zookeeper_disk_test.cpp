// SPDX-License-Identifier: BSL-1.0
// Servers that find no room for their transaction log.
#include "support/machine_delay.hpp"
#include "unit/zookeeper/contest.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace mortise::test::zookeeper_disk_test {
namespace {

using namespace std::chrono_literals;

/// A server alone that makes its log no longer ahead of its writes, so that the next one finds out.
class ZooKeeperFullDisk : public testing::Test {
protected:
    bool server_ends() {
        return eventually([&] { return servers.ended(0); });
    }
    void start_with_room() {
        servers.faults(0).fill_disk(false);
        servers.start(0);
        servers.await_service();
    }

    zookeeper_ensemble servers{1, {"preAllocSize=0"}, {}, preloads::faults};
};

TEST_F(ZooKeeperFullDisk, ThatHasRoomAgainInTimeCostsNoLease) {
    contest round(servers, 20s);  // a busy machine must not cost the lease
    auto& alice = round.join({0});
    auto& bob = round.join({0});
    round.acquire(alice);
    EXPECT_TRUE(round.reaches([&] { return alice.grants == 1; })) << round.explain();
    round.acquire(bob);
    EXPECT_TRUE(round.reaches([&] { return alice.held.contended(); })) << round.explain();
    servers.faults(0).fill_disk();
    auto& carol = round.join({0});
    round.acquire(carol);  // a session is a write
    EXPECT_TRUE(server_ends()) << servers.log(0);
    EXPECT_EQ(round.run([&] { return bob.grants + carol.grants; }), 0u);
    start_with_room();
    round.release(alice);
    EXPECT_TRUE(round.reaches([&] { return bob.grants == 1; })) << round.explain();
    round.release(bob);
    EXPECT_TRUE(round.reaches([&] { return carol.grants == 1; })) << round.explain();
    EXPECT_FALSE(alice.lost_at.has_value());
    EXPECT_EQ(round.run([&] { return alice.locks->stats().sessions; }), 1u);
    EXPECT_EQ(round.holders_max(), 1u);
}

TEST_F(ZooKeeperFullDisk, CostsALeaseInTimeAndTheWaiterIsServedWhenThereIsRoom) {
    contest round(servers, 1s);
    auto& alice = round.join({0});
    auto& bob = round.join({0});
    round.acquire(alice);
    EXPECT_TRUE(round.reaches([&] { return alice.grants == 1; })) << round.explain();
    round.acquire(bob);
    EXPECT_TRUE(round.beats_more(alice, 2)) << round.explain();
    const machine_delay delay;
    servers.faults(0).fill_disk();
    EXPECT_TRUE(round.reaches([&] { return alice.lost_at.has_value(); })) << round.explain();
    EXPECT_LT(*alice.lost_at, *alice.valid_until + 50ms + delay.so_far());
    EXPECT_TRUE(server_ends()) << servers.log(0);
    servers.start(0);  // it has no room for a snapshot either
    EXPECT_TRUE(server_ends()) << servers.log(0);
    EXPECT_EQ(round.run([&] { return bob.grants; }), 0u);
    start_with_room();
    EXPECT_TRUE(round.reaches([&] { return bob.grants == 1; })) << round.explain();
    EXPECT_GT(bob.token, alice.token);
    EXPECT_GE(bob.granted_at, *alice.valid_until);
    EXPECT_EQ(round.holders_max(), 1u);
}

}  // namespace
}  // namespace mortise::test::zookeeper_disk_test
