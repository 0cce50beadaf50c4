// SPDX-License-Identifier: BSL-1.0
// The form of single nodes: what the conformance suites do not show.
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "support/zookeeper_tree.hpp"
#include "unit/zookeeper/party.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mortise::test::zookeeper_single_node_test {
namespace {

using namespace std::chrono_literals;

constexpr auto single_node = zookeeper_form::single_node;

// Alice's process stands still from the grant on: it has not heard of the break, and has nothing
// that would tell it.
TEST(ZooKeeperSingleNode, AReleaseFreesNothingOfWhoCameAfterABreak) {
    const std::string root = "/single_node_release";
    party alice(root, 30s, single_node);
    party bob(root, 30s, single_node);
    party carol(root, 30s, single_node);
    zookeeper_tree tree(shared_zookeeper().address());
    // The first release of a session asks for what the others know already.
    alice.ask();
    ASSERT_TRUE(run({&alice}, [&] { return alice.holds(); }));
    alice.held.async_release([](error_code) {});
    ASSERT_TRUE(run({&alice}, [&] { return tree.children(root + "/locks").empty(); }));
    alice.held = lease();
    alice.ask();
    ASSERT_TRUE(run({&alice}, [&] { return alice.holds(); }));

    bool broken = false;
    bob.locks.async_break("door", alice.held.token(), "it is stuck", [&](error_code, bool was) {
        broken = was;
    });
    ASSERT_TRUE(run({&bob}, [&] { return broken; })) << bob.locks.explain();
    carol.ask();
    ASSERT_TRUE(run({&carol}, [&] { return carol.holds(); })) << carol.locks.explain();

    std::optional<error_code> released;
    alice.held.async_release([&](error_code failed) { released = failed; });
    ASSERT_TRUE(run({&alice}, [&] { return released.has_value(); }));
    EXPECT_EQ(*released, errc::lease_lost);
    EXPECT_EQ(tree.get(root + "/locks/door").stat.created, carol.held.token().base());
    EXPECT_TRUE(carol.holds());
}

/// Takes the lock again and again; notes which tokens were lost.
class user {
public:
    explicit user(const std::string& root) : of(root, 30s, single_node) {}

    void start(const bool& done) { asio::co_spawn(of.context, work(done), asio::detached); }

    party of;
    std::set<std::uint64_t> lost;
    int grants = 0;
    bool ended = false;

private:
    asio::awaitable<void> work(const bool& done) {
        while (!done) {
            auto acquiring = of.locks.async_acquire("door");
            lease held = co_await std::move(acquiring);
            ++grants;
            const auto token = held.token().value;
            constexpr int holds = 5;  // some that are over in no time, some that a break catches
            auto pausing = coro::sleep_for(*time_, std::chrono::milliseconds(4) * (grants % holds));
            co_await std::move(pausing);
            auto releasing = held.async_release(asio::as_tuple(asio::use_awaitable));
            const auto outcome = co_await std::move(releasing);
            if (std::get<0>(outcome))
                lost.insert(token);
        }
        ended = true;
    }

    const std::shared_ptr<coro::time_source> time_ =
        coro::make_boot_time_source(of.context.get_executor());
};

/// Breaks whatever it has seen a moment ago; notes which tokens that took.
asio::awaitable<void> break_again_and_again(
    lock_client& locks, std::set<std::uint64_t>& broken, const bool& done, bool& ended
) {
    // For a session: without one, each look would open a connection.
    auto acquiring = locks.async_acquire("window");
    const lease mine = co_await std::move(acquiring);
    while (!done) {
        auto looking = locks.async_inspect("door", 0);
        const auto seen = co_await std::move(looking);
        if (!seen || seen->holders.empty())
            continue;
        const auto token = seen->holders.front().token;
        auto breaking = locks.async_break("door", token, "for a test");
        const bool was = co_await std::move(breaking);
        if (was)
            broken.insert(token.value);
    }
    ended = true;
}

// A lock that passes on while it is broken.
TEST(ZooKeeperSingleNode, ABreakTakesNothingOfWhoCameAfterItsHolder) {
    const std::string root = "/single_node_break";
    user alice(root);
    user bob(root);
    party breaker(root, 30s, single_node);
    std::set<std::uint64_t> broken;
    bool done = false;
    bool ended = false;
    alice.start(done);
    bob.start(done);
    asio::co_spawn(
        breaker.context, break_again_and_again(breaker.locks, broken, done, ended), asio::detached
    );
    const std::vector<party*> all = {&alice.of, &bob.of, &breaker};
    EXPECT_TRUE(
        run(all, [&] { return broken.size() >= 20 && alice.grants >= 50 && bob.grants >= 50; })
    ) << broken.size()
      << " broken, " << alice.grants << " and " << bob.grants << " grants";
    done = true;
    EXPECT_TRUE(run(all, [&] { return alice.ended && bob.ended && ended; }));
    auto lost = alice.lost;
    lost.insert(bob.lost.begin(), bob.lost.end());
    EXPECT_EQ(lost, broken);
}

// A break that did not come to its end may have written the node, without the word of a waiter.
TEST(ZooKeeperSingleNode, AHolderWhoseNodeWasWrittenTakesItsLockForWanted) {
    const std::string root = "/single_node_written";
    party alice(root, 30s, single_node);
    zookeeper_tree tree(shared_zookeeper().address());
    alice.ask();
    ASSERT_TRUE(run({&alice}, [&] { return alice.holds(); }));
    EXPECT_FALSE(alice.held.contended());
    const std::string node = root + "/locks/door";
    ASSERT_FALSE(tree.set(node, tree.get(node).data));
    party bob(root, 30s, single_node);
    bob.ask();
    EXPECT_TRUE(run({&alice, &bob}, [&] { return alice.held.contended(); }));
    alice.held.async_release([](error_code failed) { EXPECT_FALSE(failed) << failed.message(); });
    EXPECT_TRUE(run({&alice, &bob}, [&] { return bob.holds(); })) << bob.locks.explain();
}

// Each write has a number, and a token is the number of the write that granted it. Sessions that
// others have left behind may end in between.
TEST(ZooKeeperSingleNode, AFreeLockTakesTwoWrites) {
    party alice("/single_node_cost", 30s, single_node);
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t last = 0;
    constexpr int cycles = 20;
    for (int i = 0; i < cycles; ++i) {
        alice.ask();
        ASSERT_TRUE(run({&alice}, [&] { return alice.holds(); }));
        const auto token = alice.held.token().base();
        if (last != 0)
            least = std::min(least, token - last);
        last = token;
        bool released = false;
        alice.held.async_release([&](error_code) { released = true; });
        ASSERT_TRUE(run({&alice}, [&] { return released; }));
    }
    EXPECT_EQ(least, 2u);
}

TEST(ZooKeeperSingleNode, AllClientsOfARootHaveTheSameForm) {
    const std::string root = "/single_node_form";
    party first(root, 30s, single_node);
    first.ask();
    ASSERT_TRUE(run({&first}, [&] { return first.holds(); }));
    party other(root, 30s);
    std::optional<error_code> refused;
    other.locks.async_acquire("door", lock_options(), [&](error_code failed, lease) {
        refused = failed;
    });
    ASSERT_TRUE(run({&first, &other}, [&] { return refused.has_value(); }));
    EXPECT_EQ(*refused, errc::bad_config);
    EXPECT_NE(other.locks.explain().find("form=single_node"), std::string::npos)
        << other.locks.explain();
    EXPECT_TRUE(first.holds());
}

}  // namespace
}  // namespace mortise::test::zookeeper_single_node_test
