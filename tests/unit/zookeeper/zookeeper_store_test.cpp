// SPDX-License-Identifier: BSL-1.0
// The store at a real server: what the conformance suites do not show.
#include "conformance/client_fixture.hpp"
#include "conformance/zookeeper_harness.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace mortise::test::zookeeper_store_test {
namespace {

using namespace std::chrono_literals;

asio::awaitable<void> take_turns(lock_client& locks, int times, std::uint64_t& last, int& done) {
    for (int i = 0; i < times; ++i) {
        lease held = co_await locks.async_acquire("door");
        EXPECT_GT(held.token().value, last);
        last = held.token().value;
        co_await held.async_release();
        ++done;
    }
}

TEST(ZooKeeperStore, HandsALockOverThousandsOfTimes) {
    constexpr int clients = 4;
    constexpr int times = 250;
    zookeeper_harness harness;
    std::vector<std::unique_ptr<lock_client>> all;
    std::uint64_t last = 0;
    int done = 0;
    for (int i = 0; i < clients; ++i) {
        client_config config;
        config.ttl = 10s;
        all.push_back(
            std::make_unique<lock_client>(harness.executor(), harness.make_store(), config)
        );
        asio::co_spawn(
            harness.executor(), take_turns(*all.back(), times, last, done), asio::detached
        );
    }
    EXPECT_TRUE(harness.run_until([&] { return done == clients * times; }, 20s))
        << done << harness.left();
}

}  // namespace
}  // namespace mortise::test::zookeeper_store_test
