// SPDX-License-Identifier: BSL-1.0
// What a client or a server still believes, and is no longer so.
#include "support/zookeeper_tree.hpp"
#include "unit/zookeeper/contest.hpp"
#include "unit/zookeeper/party.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::zookeeper_stale_news_test {
namespace {

using namespace std::chrono_literals;

// Bob's process stands still: the push waits in its socket until his session is over and the lock
// is carol's.
TEST(ZooKeeperStaleNews, APushThatIsReadAfterTheEndOfItsSessionGrantsNothing) {
    const std::string root = "/stale_news";
    party alice(root, 30s);
    party bob(root, 3s);  // a busy machine must not end his session before
    party carol(root, 30s);
    zookeeper_tree tree(shared_zookeeper().address());
    const std::string folder = root + "/locks/door";
    const auto queue = [&] { return tree.children(folder); };
    alice.ask();
    ASSERT_TRUE(run({&alice}, [&] { return alice.holds(); }));
    bob.ask();
    ASSERT_TRUE(run({&alice, &bob}, [&] { return queue().size() == 2; }));
    carol.ask();
    ASSERT_TRUE(run({&alice, &bob, &carol}, [&] { return queue().size() == 3; }));
    // He has a watch on alice's node by then.
    const auto beats = bob.locks.stats().heartbeats;
    ASSERT_TRUE(run({&alice, &bob, &carol}, [&] {
        return bob.locks.stats().heartbeats >= beats + 1;
    }));

    alice.held.async_release([](error_code) {});
    ASSERT_TRUE(run({&alice, &carol}, [&] { return queue().size() == 2; }));
    ASSERT_TRUE(run({&alice, &carol}, [&] { return carol.holds(); }));
    ASSERT_FALSE(bob.holds());

    bool both = false;
    const auto again = [&] {
        both = both || (bob.holds() && carol.holds());
        return bob.locks.stats().sessions == 2 && queue().size() == 2;
    };
    EXPECT_TRUE(run({&alice, &bob, &carol}, again)) << bob.locks.explain();
    EXPECT_FALSE(both) << "two hold the lock";
    EXPECT_TRUE(carol.holds());
    const auto newest = carol.held.token().value;
    carol.held.async_release([](error_code) {});
    EXPECT_TRUE(run({&alice, &bob, &carol}, [&] { return bob.holds(); })) << bob.locks.explain();
    EXPECT_GT(bob.held.token().value, newest);
}

// One at a time, as a majority must keep what it has.
TEST(ZooKeeperStaleNews, AMemberThatStartsWithAnEmptyDiskGrantsNothingTwice) {
    auto& servers = shared_ensemble();
    servers.await_service();
    contest round(servers, 8s);  // a busy machine must not cost the lease
    auto& alice = round.join({0, 1, 2});
    round.acquire(alice);
    EXPECT_TRUE(round.reaches([&] { return alice.grants == 1; })) << round.explain();
    std::vector<contest::contender*> others;
    for (std::size_t member = 0; member < servers.size(); ++member) {
        servers.kill(member);
        servers.empty(member);
        servers.start(member);
        servers.await_service();
        auto& other = *others.emplace_back(&round.join({member}));
        round.acquire(other);
        EXPECT_TRUE(round.reaches([&] { return other.locks->stats().waiting == 1; }));
        EXPECT_TRUE(round.beats_more(other, 1)) << round.explain();
        EXPECT_TRUE(round.beats_more(alice, 1)) << round.explain();
        EXPECT_TRUE(round.run([&] { return alice.held.held(); })) << round.explain();
        EXPECT_EQ(round.run([&] { return other.grants; }), 0u) << "two hold the lock";
    }
    round.release(alice);
    EXPECT_TRUE(round.reaches([&] { return others.front()->grants == 1; })) << round.explain();
    EXPECT_EQ(round.holders_max(), 1u);
    EXPECT_GT(others.front()->token, alice.token);
}

}  // namespace
}  // namespace mortise::test::zookeeper_stale_news_test
