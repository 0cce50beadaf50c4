// SPDX-License-Identifier: BSL-1.0
// The nodes above the queues, which the servers delete when they are empty: those of tests at once.
#include "support/zookeeper_tree.hpp"
#include "unit/zookeeper/party.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace mortise::test::zookeeper_containers_test {
namespace {

using namespace std::chrono_literals;

// The numbers in the names of nodes begin at zero again.
TEST(ZooKeeperContainers, VanishWithTheLastNodeAndTokensGrowOnInTheNextOne) {
    const std::string root = "/containers";
    party alice(root, 30s);
    party bob(root, 30s);
    zookeeper_tree tree(shared_zookeeper().address());
    std::uint64_t last = 0;
    constexpr int times = 3;
    for (int i = 0; i < times; ++i) {
        alice.ask();
        ASSERT_TRUE(run({&alice}, [&] { return alice.holds(); })) << alice.locks.explain();
        bob.ask();
        const auto queue = [&] { return tree.children(root + "/locks/door"); };
        ASSERT_TRUE(run({&alice, &bob}, [&] { return queue().size() == 2; }));
        EXPECT_GT(alice.held.token().value, last);
        std::optional<error_code> released;
        const auto note = [&](error_code failed) { released = failed; };
        alice.held.async_release(note);
        ASSERT_TRUE(run({&alice, &bob}, [&] { return released && bob.holds(); }));
        EXPECT_FALSE(*released) << released->message();
        EXPECT_GT(bob.held.token().value, alice.held.token().value);
        last = bob.held.token().value;
        released.reset();
        bob.held.async_release(note);
        ASSERT_TRUE(run({&alice, &bob}, [&] { return released.has_value(); }));
        EXPECT_FALSE(*released) << released->message();
        EXPECT_TRUE(run({&alice, &bob}, [&] { return tree.children(root + "/locks").empty(); }))
            << tree.text(root);
    }
}

}  // namespace
}  // namespace mortise::test::zookeeper_containers_test
