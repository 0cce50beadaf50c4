// SPDX-License-Identifier: BSL-1.0
// A session whose connection moves to another server, while the one before is yet to hear of
// requests that were sent to it. The ensemble refuses them: the session has moved.
#include "support/zookeeper_tree.hpp"
#include "unit/zookeeper/contest.hpp"
#include "unit/zookeeper/relays.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace mortise::test::zookeeper_moved_test {
namespace {

using namespace std::chrono_literals;
using way = tcp_relay::way;

/// Where a client moves.
enum class move { to_leader, from_leader, between_followers };

const char* to_string(move kind) {
    constexpr const char* names[] = {"ToTheLeader", "FromTheLeader", "BetweenFollowers"};
    return names[static_cast<int>(kind)];
}

class ZooKeeperMovedSession : public testing::TestWithParam<move> {
protected:
    ZooKeeperMovedSession() {
        servers.await_service();
        const auto leader = servers.member_with("leader");
        const auto follower = (leader + 1) % 3;
        before = GetParam() == move::from_leader ? leader : follower;
        after = GetParam() == move::to_leader ? leader : (leader + 2) % 3;
    }

    // Two relays lead to the two servers; alice is connected to the first.
    contest::contender& join_before(contest& round) {
        auto& alice = round.join_at({relay_to(before), relay_to(after)});
        round.acquire(alice);
        EXPECT_TRUE(round.reaches([&] { return alice.grants == 1; })) << round.explain();
        // An opening that is answered late is given up, and then the other server is next.
        constexpr int openings_max = 20;
        for (int i = 0; i < openings_max && !is_before(); ++i) {
            end_connections(after);
            lease other;
            EXPECT_TRUE(gets(round, alice, "hatch", other)) << round.explain();
            round.run([&] { other = lease(); });
        }
        EXPECT_TRUE(is_before()) << round.explain();
        return alice;
    }
    bool is_before() { return connections(before) == 1 && connections(after) == 0; }

    std::uint16_t relay_to(std::size_t member) {
        return between.between(client, member, servers.port(member));
    }
    std::size_t connections(std::size_t member) {
        return between.with(client, member, [](tcp_relay& relay) { return relay.connections(); });
    }
    std::uint64_t accepted() {
        const auto count = [](tcp_relay& relay) { return relay.accepted(); };
        return between.with(client, before, count) + between.with(client, after, count);
    }
    std::string held_back(std::size_t member, way direction) {
        return between.with(client, member, [&](tcp_relay& relay) {
            return relay.held_back(direction);
        });
    }
    void hold(std::size_t member, way direction, bool held) {
        between.hold(client, member, direction, held);
    }
    /// The next connection of alice is to the other server.
    void send_away_from(std::size_t member) {
        between.with(client, member, [](tcp_relay& relay) {
            relay.refuse(true);
            relay.send_clients_away();
        });
    }
    void end_connections(std::size_t member) {
        between.with(client, member, [](tcp_relay& relay) { relay.end_connections(); });
    }

    /// Ends the connections to the server in use until an opening to the other one is held back.
    void await_opening(contest& round) {
        end_connections(before);
        EXPECT_TRUE(eventually([&] {
            if (connections(before) != 0)
                end_connections(before);
            return !held_back(after, way::to_server).empty();
        })) << round.explain();
    }

    /// Asks for another lock.
    void ask(contest& round, contest::contender& by, const std::string& name, lease& into) {
        round.run([&] {
            by.locks->async_acquire(name, lock_options(), [&](error_code code, lease got) {
                EXPECT_FALSE(code) << code.message();
                into = std::move(got);
            });
        });
    }
    bool gets(contest& round, contest::contender& by, const std::string& name, lease& into) {
        ask(round, by, name, into);
        return round.reaches([&] { return into && into.held(); });
    }

    static constexpr std::size_t client = 3;  ///< In the names of relays.

    zookeeper_ensemble& servers = shared_ensemble();
    relays between;
    std::size_t before = 0;
    std::size_t after = 0;
};

// The node of a request that is made twice would stand in the queue for as long as the session.
TEST_P(ZooKeeperMovedSession, IsNotTouchedByWhatItSentBefore) {
    contest round(servers, 20s);  // no heartbeat, and nothing idle that is closed meanwhile
    auto& alice = join_before(round);
    auto& bob = round.join({after});
    round.acquire(bob);
    EXPECT_TRUE(round.reaches([&] { return alice.held.contended(); })) << round.explain();
    lease window;
    hold(before, way::to_server, true);
    ask(round, alice, "window", window);
    EXPECT_TRUE(eventually([&] {
        return held_back(before, way::to_server).find("/locks/window/") != std::string::npos;
    })) << round.explain();
    send_away_from(before);  // for good: servers do not tell two connections of a session apart
    EXPECT_TRUE(round.reaches([&] { return window && window.held(); })) << round.explain();
    EXPECT_EQ(connections(after), 1u);
    EXPECT_EQ(connections(before), 1u) << "the server is not told";
    hold(before, way::to_server, false);
    EXPECT_TRUE(eventually([&] { return connections(before) == 0; })) << "it is refused";
    zookeeper_tree tree(servers.address(before));
    const auto queue = round.root() + "/locks/window";
    EXPECT_EQ(tree.children(queue).size(), 1u) << tree.text(round.root());
    round.run([&] { window = lease(); });
    EXPECT_TRUE(eventually([&] { return tree.children(queue).empty(); }));
    EXPECT_TRUE(gets(round, bob, "window", window)) << round.explain();
    EXPECT_EQ(round.run([&] { return bob.grants; }), 0u);
    round.release(alice);
    EXPECT_TRUE(round.reaches([&] { return bob.grants == 1; })) << round.explain();
    EXPECT_FALSE(alice.lost_at.has_value());
    EXPECT_EQ(round.run([&] { return alice.locks->stats().sessions; }), 1u);
    EXPECT_EQ(round.holders_max(), 1u);
    round.run([&] { window = lease(); });
}

// The opening of a connection that was given up moves the session to its server. The one in use is
// then refused, and ended.
TEST_P(ZooKeeperMovedSession, IsKeptWhenALateOpeningMovesItBack) {
    contest round(servers, 20s);  // no heartbeat comes in between
    auto& alice = join_before(round);
    auto& bob = round.join({after});
    round.acquire(bob);
    EXPECT_TRUE(round.reaches([&] { return alice.held.contended(); })) << round.explain();
    hold(after, way::to_server, true);
    hold(after, way::to_client, true);
    await_opening(round);
    send_away_from(after);
    lease window;
    EXPECT_TRUE(gets(round, alice, "window", window)) << round.explain();
    EXPECT_EQ(connections(before), 1u);
    const auto count = accepted();
    hold(after, way::to_server, false);
    EXPECT_TRUE(eventually([&] { return !held_back(after, way::to_client).empty(); }));
    hold(after, way::to_client, false);
    between.with(client, after, [](tcp_relay& relay) { relay.refuse(false); });
    lease other;
    EXPECT_TRUE(gets(round, alice, "hatch", other)) << round.explain();
    EXPECT_GT(accepted(), count) << "the session has not moved";
    round.release(alice);
    EXPECT_TRUE(round.reaches([&] { return bob.grants == 1; })) << round.explain();
    EXPECT_FALSE(alice.lost_at.has_value());
    EXPECT_EQ(round.run([&] { return alice.locks->stats().sessions; }), 1u);
    EXPECT_EQ(round.holders_max(), 1u);
    round.run([&] {
        window = lease();
        other = lease();
    });
}

// The other server takes the connection and says nothing. The C client would give it nine seconds.
TEST_P(ZooKeeperMovedSession, IsKeptThoughAServerDoesNotAnswerItsOpening) {
    contest round(servers, 8s);  // a busy machine must not cost the lease
    auto& alice = join_before(round);
    hold(after, way::to_server, true);
    await_opening(round);
    EXPECT_TRUE(round.beats_more(alice, 1)) << round.explain();
    EXPECT_EQ(connections(before), 1u);
    EXPECT_TRUE(round.run([&] { return alice.held.held(); })) << round.explain();
    EXPECT_EQ(round.run([&] { return alice.locks->stats().sessions; }), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Is,
    ZooKeeperMovedSession,
    testing::Values(move::to_leader, move::from_leader, move::between_followers),
    [](const auto& of) { return std::string(to_string(of.param)); }
);

}  // namespace
}  // namespace mortise::test::zookeeper_moved_test
