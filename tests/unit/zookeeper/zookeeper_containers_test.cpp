// SPDX-License-Identifier: BSL-1.0
// The nodes above the queues, which the servers delete when they are empty: those of tests at once.
#include "support/zookeeper_tree.hpp"
#include "unit/zookeeper/party.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// At whatever step of the opening that makes the store.
TEST(ZooKeeperContainers, AStoreThatIsMadeJustNowIsListedAsAnEmptyOne) {
    constexpr int steps_max = 400;
    bool held = false;
    for (int steps = 0; !held; ++steps) {
        ASSERT_LT(steps, steps_max);
        party alice("/made-" + std::to_string(steps), 30s);
        alice.ask();
        alice.context.restart();
        for (int i = 0; i < steps && !alice.holds(); ++i)
            alice.context.run_one_for(1s);
        held = alice.holds();
        std::optional<error_code> failed;
        std::vector<lock_view> seen;
        alice.locks.async_list("", 10, 10, [&](error_code code, std::vector<lock_view> views) {
            failed = code;
            seen = std::move(views);
        });
        ASSERT_TRUE(run({&alice}, [&] { return failed.has_value(); }));
        EXPECT_FALSE(*failed) << failed->message() << " at step " << steps << ": "
                              << alice.locks.explain();
        for (const auto& each : seen)
            EXPECT_FALSE(each.holders.at(0).token.domain.empty()) << steps;
        ASSERT_FALSE(HasFailure());
    }
}

}  // namespace
}  // namespace mortise::test::zookeeper_containers_test
