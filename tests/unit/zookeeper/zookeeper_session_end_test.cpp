// SPDX-License-Identifier: BSL-1.0
// Sessions that somebody else ends: an administrator, or a client that poses as their own.
#include "support/machine_delay.hpp"
#include "support/zookeeper_tree.hpp"
#include "unit/zookeeper/contest.hpp"
#include "unit/zookeeper/party.hpp"
#include "zookeeper/zk_driving.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/time.h>
#include <zookeeper/zookeeper.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::test::zookeeper_session_end_test {
namespace {

using namespace std::chrono_literals;

/// What the servers make of the number of a session: sixteen bytes of Java's `Random`.
clientid_t credentials_of(std::int64_t session) {
    constexpr std::uint64_t secret = 0xB3415C00;
    constexpr std::uint64_t factor = 0x5DEECE66D;
    constexpr std::uint64_t mask = (std::uint64_t(1) << 48U) - 1;
    constexpr unsigned word_shift = 16;
    constexpr std::size_t word = 4;
    clientid_t all{};
    all.client_id = session;
    std::uint64_t state = ((static_cast<std::uint64_t>(session) ^ secret) ^ factor) & mask;
    for (std::size_t i = 0; i < sizeof all.passwd; ++i) {
        if (i % word == 0)
            state = (state * factor + 0xB) & mask;
        all.passwd[i] = static_cast<char>(state >> (word_shift + 8 * (i % word)));
    }
    return all;
}

/// Closes a session by another connection. @return whether the server knew it
bool close_session(const std::string& server, std::int64_t session) {
    constexpr int timeout_ms = 5'000;
    const auto mine = credentials_of(session);
    // The others' client is on another thread.
    const auto in_turn = [](const auto& call) {
        const zookeeper_detail::client_turn turn;
        return call();
    };
    const char* const place = server.c_str();
    auto* const raw = in_turn([&] {
        return ::zookeeper_init2(place, nullptr, timeout_ms, &mine, nullptr, 0, [](const char*) {});
    });
    const bool known =
        eventually([&] {
            int fd = -1;
            int interest = 0;
            timeval most{};
            in_turn([&] { return ::zookeeper_interest(raw, &fd, &interest, &most); });
            pollfd ready{fd, 0, 0};
            ready.events |= (interest & ZOOKEEPER_READ) != 0 ? POLLIN : 0;
            ready.events |= (interest & ZOOKEEPER_WRITE) != 0 ? POLLOUT : 0;
            ::poll(&ready, 1, 10);
            int events = (ready.revents & POLLIN) != 0 ? ZOOKEEPER_READ : 0;
            events |= (ready.revents & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0;
            in_turn([&] { return ::zookeeper_process(raw, events); });
            return ::zoo_state(raw) == ZOO_CONNECTED_STATE || ::is_unrecoverable(raw) != ZOK;
        }) &&
        ::zoo_state(raw) == ZOO_CONNECTED_STATE;
    in_turn([&] { return ::zookeeper_close(raw); });
    return known;
}

class ZooKeeperSessionEnd : public testing::Test {
protected:
    ZooKeeperSessionEnd() {
        servers.await_service();
        round.acquire(alice);
        EXPECT_TRUE(round.reaches([&] { return alice.grants == 1; })) << round.explain();
        std::vector<std::string> nodes;
        EXPECT_TRUE(eventually([&] { return (nodes = tree.children(sessions)).size() == 1; }));
        if (!nodes.empty())
            node = sessions + '/' + nodes.front();
        round.acquire(bob);
    }

    zookeeper_ensemble& servers = shared_ensemble();
    contest round{servers, 3s};
    contest::contender& alice = round.join({0});
    contest::contender& bob = round.join({1, 2});
    zookeeper_tree tree{servers.address(1)};
    const std::string sessions = round.root() + "/sessions";
    std::string node;  ///< Of alice's session.
};

TEST_F(ZooKeeperSessionEnd, IsNoticedIfItsNodeIsDeleted) {
    EXPECT_FALSE(tree.erase(node));
    const auto both = [&] { return alice.lost_at.has_value() && bob.grants == 1; };
    EXPECT_TRUE(round.reaches(both)) << round.explain();
    EXPECT_EQ(round.holders_max(), 1u);
}

// The lock may be given away a moment before its holder hears of it: tokens are for that.
TEST_F(ZooKeeperSessionEnd, IsNoticedAtOnceIfAnotherConnectionClosesIt) {
    const auto session = tree.get(node).stat.owner;
    ASSERT_NE(session, 0);
    const machine_delay delay;
    const auto closed = clock::now();
    EXPECT_TRUE(close_session(servers.address(2), session));
    const auto both = [&] { return alice.lost_at.has_value() && bob.grants == 1; };
    EXPECT_TRUE(round.reaches(both)) << round.explain();
    EXPECT_LT(*alice.lost_at, closed + 500ms + delay.so_far());
    EXPECT_GT(bob.token, alice.token);
}

TEST_F(ZooKeeperSessionEnd, CostsAWaiterNoMoreThanItsPlace) {
    std::vector<std::string> nodes;
    EXPECT_TRUE(eventually([&] { return (nodes = tree.children(sessions)).size() == 2; }));
    ASSERT_EQ(nodes.size(), 2u);
    const auto other = sessions + '/' + nodes[sessions + '/' + nodes[0] == node ? 1 : 0];
    EXPECT_TRUE(close_session(servers.address(0), tree.get(other).stat.owner));
    EXPECT_TRUE(round.reaches([&] { return bob.locks->stats().sessions == 2; })) << round.explain();
    EXPECT_EQ(round.run([&] { return bob.grants; }), 0u);
    round.release(alice);
    EXPECT_TRUE(round.reaches([&] { return bob.grants == 1; })) << round.explain();
    EXPECT_EQ(round.holders_max(), 1u);
}

// The session's nodes are deleted for those who wait. What is deleted last must not keep the client
// alive: the sanitizer finds what a context leaves behind.
TEST(ZooKeeperContextEnd, WhileASessionIsClearedUpLeavesNothing) {
    constexpr auto ttl = 600ms;
    party alone("/context_end", ttl);
    alone.ask();
    ASSERT_TRUE(run({&alone}, [&] { return static_cast<bool>(alone.held); }));
    const auto end = clock::now() + 2 * ttl;  // until then the process stands still
    EXPECT_TRUE(eventually([&] { return clock::now() >= end; }));
    EXPECT_TRUE(run({&alone}, [&] { return alone.held.state() == lease_state::lost; }));
    EXPECT_EQ(alone.held.check(), errc::lease_lost);
}

}  // namespace
}  // namespace mortise::test::zookeeper_session_end_test
