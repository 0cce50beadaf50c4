// SPDX-License-Identifier: BSL-1.0
// A follower that does not hear its leader, or is not heard by it, and serves its clients still.
#include "support/tcp_relay.hpp"
#include "unit/zookeeper/contest.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::test::zookeeper_cut_test {
namespace {

using namespace std::chrono_literals;

/// Relays between the followers and leaders of an ensemble, on a thread of their own.
class relays {
public:
    relays() : thread_([this] { context_.run(); }) {}
    ~relays();
    relays(const relays&) = delete;
    relays& operator=(const relays&) = delete;

    /// A relay by which one member follows another. @return its port
    std::uint16_t between(std::size_t from, std::size_t to, std::uint16_t port) {
        return run([&, key = std::pair(from, to)] {
            auto& relay = relays_[key];
            relay = std::make_unique<tcp_relay>(context_.get_executor(), port);
            return relay->port();
        });
    }

    /// Holds what a follower and its leader send, or lets it through again.
    void hold(std::size_t follower, std::size_t leader, tcp_relay::way direction, bool held) {
        run([&] { relays_.at({follower, leader})->hold(direction, held); });
    }

private:
    template <class Call>
    std::invoke_result_t<Call&> run(Call call) {
        std::packaged_task<std::invoke_result_t<Call&>()> whole(std::move(call));
        auto done = whole.get_future();
        asio::post(context_, [&] { whole(); });
        return done.get();
    }

    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<tcp_relay>> relays_;
    std::thread thread_;
};

relays::~relays() {
    run([this] { relays_.clear(); });
    work_.reset();
    thread_.join();
}

/// Which way between a follower and its leader is cut.
enum class cut { both, to_leader, to_follower };

const char* to_string(cut way) {
    constexpr const char* names[] = {"BothWays", "ToTheLeader", "ToTheFollower"};
    return names[static_cast<int>(way)];
}

/// Three servers, each of which follows another by a relay. The follower waits for its leader, and
/// the leader for it, for ten seconds.
struct relayed_servers {
    relays between;
    zookeeper_ensemble servers{
        3, {"syncLimit=100"}, [this](std::size_t from, std::size_t to, std::uint16_t port) {
            return between.between(from, to, port);
        }};
};

class ZooKeeperFollowerCut : public testing::TestWithParam<cut> {
protected:
    static relayed_servers& shared() {
        static relayed_servers only;
        return only;
    }

    void hold(bool held) {
        using way = tcp_relay::way;
        if (GetParam() != cut::to_follower)
            shared().between.hold(follower, leader, way::to_server, held);
        if (GetParam() != cut::to_leader)
            shared().between.hold(follower, leader, way::to_client, held);
    }

    zookeeper_ensemble& servers = shared().servers;
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
