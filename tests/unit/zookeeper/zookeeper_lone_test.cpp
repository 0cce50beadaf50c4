// SPDX-License-Identifier: BSL-1.0
// A client that takes a lock again and again while nobody else wants it does not read the queue:
// the number of its node tells that nobody has come between. What must not deceive it.
#include "conformance/client_fixture.hpp"
#include "mortise/lock_client.hpp"
#include "store/zookeeper/node_names.hpp"
#include "support/zookeeper_tree.hpp"
#include "unit/zookeeper/relayed_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test::zookeeper_lone_test {
namespace {

using namespace std::chrono_literals;

class ZooKeeperLoneLock : public testing::Test {
protected:
    lock_client client(bool relays) {
        client_config config = config_of(harness);
        config.ttl = 30s;
        harness.relays = relays;
        return lock_client(harness.executor(), harness.make_store(), config);
    }
    void ask(lock_client& by, std::optional<lease>& got) {
        got.reset();
        by.async_acquire("door", lock_options(), [&](error_code failed, lease held) {
            EXPECT_FALSE(failed) << failed.message() << by.explain();
            got = std::move(held);
        });
    }
    void acquire(lock_client& by, std::optional<lease>& got) {
        ask(by, got);
        ASSERT_TRUE(harness.run_until([&] { return got.has_value(); }, 20s)) << by.explain();
    }
    void release(std::optional<lease>& held) {
        bool released = false;
        held->async_release([&](error_code failed) {
            EXPECT_FALSE(failed) << failed.message();
            released = true;
        });
        ASSERT_TRUE(harness.run_until([&] { return released; }, 20s));
        held.reset();
    }
    void cycle(lock_client& by) {
        std::optional<lease> held;
        ASSERT_NO_FATAL_FAILURE(acquire(by, held));
        ASSERT_NO_FATAL_FAILURE(release(held));
    }

    /// How many packets the server has got so far, from all.
    std::int64_t packets() {
        const std::string word = "Received: ";
        const auto state = shared_zookeeper().ask(0, "srvr");
        const auto at = state.find(word);
        EXPECT_NE(at, std::string::npos) << state;
        return at == std::string::npos ? 0 : std::stoll(state.substr(at + word.size()));
    }

    /// Takes the lock until the queue is not read for it any more.
    void make_sure() {
        constexpr int rounds_max = 1'000;  // servers of tests delete an empty queue 300 ms later
        constexpr int cycles_to_know = 4;
        for (int round = 0; round < rounds_max; ++round) {
            for (int i = 0; i < cycles_to_know; ++i)
                ASSERT_NO_FATAL_FAILURE(cycle(alice));
            const auto before = packets();
            ASSERT_NO_FATAL_FAILURE(cycle(alice));
            if (packets() - before <= 3)  // ours, and the question for the number
                return;
        }
        FAIL() << "it reads the queue each time";
    }

    std::string queue() { return harness.root() + "/locks/door"; }
    /// Deletes the queue, unless the server has, and makes another one, in which the next node of
    /// alice will be expected to be the first although one of a stranger is.
    void replace_queue(std::uint32_t expected) {
        using store_detail::node_prefix;
        using zookeeper_detail::node_kind;
        constexpr session_id stranger{1, 2};
        auto& tree = harness.tree();
        (void)tree.erase(queue());
        ASSERT_FALSE(tree.create(queue()));
        std::string node;
        for (std::uint32_t i = 0; i < expected; ++i) {
            if (!node.empty()) {
                ASSERT_FALSE(tree.erase(node));
            }
            const auto prefix = queue() + '/' + node_prefix(stranger, i + 1, lock_mode());
            const auto making = tree.ask([&](auto& by, auto then) {
                by.create(prefix, "", node_kind::ephemeral_sequential, then);
            });
            ASSERT_FALSE(making.failed) << making.failed.message();
            node = making.path;
        }
        strangers_ = node;
    }
    /// Alice's next node, if nobody comes between.
    std::uint32_t next_number() {
        std::optional<lease> held;
        acquire(alice, held);
        const auto nodes = harness.tree().children(queue());
        EXPECT_EQ(nodes.size(), 1u);
        const auto node = nodes.empty() ? std::nullopt : store_detail::parse_queue_node(nodes[0]);
        release(held);
        return node ? node->number + 1 : 0;
    }
    void expect_that_alice_waits_for_the_stranger() {
        std::optional<lease> held;
        ask(alice, held);
        EXPECT_TRUE(harness.run_until([&] { return harness.nodes_of("door") == 2; }, 20s))
            << alice.explain();
        harness.pass(300ms);
        EXPECT_FALSE(held) << "two have the lock";
        EXPECT_FALSE(harness.tree().erase(strangers_));
        EXPECT_TRUE(harness.run_until([&] { return held.has_value(); }, 20s)) << alice.explain();
    }

    relayed_harness harness;
    lock_client alice = client(true);

private:
    std::string strangers_;
};

TEST_F(ZooKeeperLoneLock, CostsTwoPacketsACycle) {
    constexpr int rounds = 200;
    constexpr int cycles_of_a_round = 10;
    auto least = std::numeric_limits<std::int64_t>::max();
    const auto enough = [&] { return least <= 2 * cycles_of_a_round + 1; };
    for (int round = 0; round < rounds && !enough(); ++round) {
        const auto before = packets();
        for (int i = 0; i < cycles_of_a_round; ++i)
            ASSERT_NO_FATAL_FAILURE(cycle(alice));
        least = std::min(least, packets() - before);
    }
    EXPECT_TRUE(enough()) << least;
}

TEST_F(ZooKeeperLoneLock, IsNotTakenFromAnotherWhoHasComeBetween) {
    auto bob = client(false);
    constexpr int rounds = 10;
    for (int round = 0; round < rounds; ++round) {
        ASSERT_NO_FATAL_FAILURE(make_sure());
        std::optional<lease> his;
        ASSERT_NO_FATAL_FAILURE(acquire(bob, his));
        const auto token = his->token().value;
        std::optional<lease> hers;
        ask(alice, hers);
        ASSERT_TRUE(harness.run_until([&] { return harness.nodes_of("door") == 2; }, 20s));
        EXPECT_FALSE(hers);
        ASSERT_NO_FATAL_FAILURE(release(his));
        ASSERT_TRUE(harness.run_until([&] { return hers.has_value(); }, 20s)) << alice.explain();
        EXPECT_GT(hers->token().value, token);
        ASSERT_NO_FATAL_FAILURE(release(hers));
    }
}

// The queue was deleted, as servers do with an empty one, and numbers began anew.
TEST_F(ZooKeeperLoneLock, IsNotMistakenForOneOfAnotherQueueWithTheSameNumbers) {
    ASSERT_NO_FATAL_FAILURE(make_sure());
    const auto expected = next_number();
    ASSERT_NO_FATAL_FAILURE(replace_queue(expected));
    expect_that_alice_waits_for_the_stranger();
}

TEST_F(ZooKeeperLoneLock, IsNotMistakenForOneThatWasMadeWhileTheClientWasCutOff) {
    ASSERT_NO_FATAL_FAILURE(make_sure());
    const auto expected = next_number();
    for (auto* const each : {&harness.way, &harness.detour}) {
        each->refuse(true);
        each->end_connections();
    }
    ASSERT_NO_FATAL_FAILURE(replace_queue(expected));
    for (auto* const each : {&harness.way, &harness.detour})
        each->refuse(false);
    expect_that_alice_waits_for_the_stranger();
}

}  // namespace
}  // namespace mortise::test::zookeeper_lone_test
