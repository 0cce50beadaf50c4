// SPDX-License-Identifier: BSL-1.0
// Servers whose wall clock is set while locks are held and waited for.
#include "support/zookeeper_tree.hpp"
#include "unit/zookeeper/contest.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace mortise::test::zookeeper_clock_test {
namespace {

using namespace std::chrono_literals;

/// A holder and its waiters, and beside them a holder that dies: the servers' clocks are set
/// meanwhile.
class lives {
public:
    lives(zookeeper_ensemble& servers, const std::vector<std::size_t>& members)
        : servers_(servers), members_(members), round_(servers, 8s), brief_(servers, 300ms) {
        round_.acquire(alice_);
        EXPECT_TRUE(round_.reaches([&] { return alice_.grants == 1; })) << round_.explain();
        round_.acquire(bob_);
        EXPECT_TRUE(round_.reaches([&] { return alice_.held.contended(); })) << round_.explain();
        brief_.acquire(dave_);
        EXPECT_TRUE(brief_.reaches([&] { return dave_.grants == 1; })) << brief_.explain();
        brief_.acquire(erin_);
    }

    // A session that nobody keeps ends when it should, neither at once nor an hour later.
    void a_dead_holder_is_replaced() {
        const auto until = brief_.run([&] { return dave_.held.valid_until(); });
        brief_.kill(dave_);
        EXPECT_TRUE(brief_.reaches([&] { return erin_.grants == 1; })) << brief_.explain();
        EXPECT_GE(erin_.granted_at, until);
        EXPECT_EQ(brief_.holders_max(), 1u);
    }

    void a_newcomer_waits(std::chrono::milliseconds servers_ahead) {
        round_.acquire(carol_);
        zookeeper_tree tree(servers_.addresses());
        const auto creation_of = [&](std::size_t number) {
            const auto queue = round_.root() + "/locks/door";
            for (const auto& each : tree.children(queue)) {
                if (each.ends_with(std::to_string(number)))
                    return std::chrono::milliseconds(tree.get(queue + '/' + each).stat.created_at);
            }
            return std::chrono::milliseconds(0);
        };
        const auto waits = [&] { return creation_of(2) != 0ms; };
        EXPECT_TRUE(eventually(waits)) << round_.explain();
        const auto stepped = creation_of(2) - creation_of(0);
        EXPECT_LT(std::chrono::abs(stepped - servers_ahead), 20min) << "their clock is not set";
    }

    void all_are_served_in_order() {
        EXPECT_EQ(round_.run([&] { return bob_.grants + carol_.grants; }), 0u);
        round_.release(alice_);
        EXPECT_TRUE(round_.reaches([&] { return bob_.grants == 1; })) << round_.explain();
        EXPECT_EQ(round_.run([&] { return carol_.grants; }), 0u);
        round_.release(bob_);
        EXPECT_TRUE(round_.reaches([&] { return carol_.grants == 1; })) << round_.explain();
        EXPECT_EQ(round_.holders_max(), 1u);
        for (const auto* each : {&alice_, &bob_, &carol_}) {
            EXPECT_FALSE(each->lost_at.has_value());
            EXPECT_EQ(round_.run([&] { return each->locks->stats().sessions; }), 1u);
        }
    }

private:
    zookeeper_ensemble& servers_;
    const std::vector<std::size_t> members_;
    contest round_;
    contest brief_;
    contest::contender& alice_ = round_.join(members_);
    contest::contender& bob_ = round_.join(members_);
    contest::contender& carol_ = round_.join(members_);
    contest::contender& dave_ = brief_.join(members_);
    contest::contender& erin_ = brief_.join(members_);
};

class ZooKeeperClock : public testing::TestWithParam<std::chrono::hours> {};

TEST_P(ZooKeeperClock, OfAServerThatIsSetCostsNothing) {
    zookeeper_ensemble servers(1, {}, {}, preloads::faults);
    lives all(servers, {0});
    servers.faults(0).step_clock(GetParam());
    all.a_dead_holder_is_replaced();
    all.a_newcomer_waits(GetParam());
    all.all_are_served_in_order();
}

// The leader tells the time of each write.
TEST_P(ZooKeeperClock, OfALeaderThatIsSetAgainstItsFollowersCostsNothing) {
    zookeeper_ensemble servers(3, {}, {}, preloads::faults);
    const auto leader = servers.member_with("leader");
    lives all(servers, {0, 1, 2});
    for (std::size_t i = 0; i < servers.size(); ++i)
        servers.faults(i).step_clock(i == leader ? GetParam() : -GetParam());
    all.a_dead_holder_is_replaced();
    all.a_newcomer_waits(GetParam());
    all.all_are_served_in_order();
}

INSTANTIATE_TEST_SUITE_P(Steps, ZooKeeperClock, testing::Values(1h, -1h), [](const auto& of) {
    return std::string(of.param > 0h ? "Forward" : "Back");
});

}  // namespace
}  // namespace mortise::test::zookeeper_clock_test
