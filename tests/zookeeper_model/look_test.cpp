// SPDX-License-Identifier: BSL-1.0
// A look of a session beside others that grant at the same time.
#include "conformance/peer.hpp"
#include "conformance/zookeeper_model_harness.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

asio::awaitable<void> open_and_ask(peer& who, std::string name, peer::manner how) {
    co_await who.open();
    EXPECT_TRUE(co_await who.ask_for(name, how));
}

/// Looks, and notes whether the session has the lock.
asio::awaitable<void> note_look(peer& who, std::size_t& looks, std::size_t& grants) {
    auto looking = who.port().look(0);
    const auto view = co_await std::move(looking);
    EXPECT_TRUE(view);
    ++looks;
    grants += view && !view->entries.empty() && view->entries.front().granted ? 1U : 0U;
}

// All of them find that they are due, and grant to one another. One is first; the others find
// nothing left to do.
TEST(ZooKeeperLook, SeesWhatAnotherSessionHasGrantedMeanwhile) {
    constexpr std::size_t waiters = 4;
    zookeeper_model_harness harness;
    peer holder(harness, std::chrono::seconds(30));
    harness.run([](peer& who) -> asio::awaitable<void> {
        co_await who.open();
        co_await who.hold("door");
    }(holder));
    std::vector<std::unique_ptr<peer>> all;
    const peer::manner permit{lock_mode::permits(waiters)};
    for (std::size_t i = 0; i < waiters; ++i) {
        all.push_back(std::make_unique<peer>(harness, std::chrono::seconds(30)));
        harness.run(open_and_ask(*all.back(), "door", permit));
    }
    harness.run([](peer& who, peer& by) -> asio::awaitable<void> {
        const auto seen = co_await who.port().inspect("door", 10);
        EXPECT_TRUE(co_await by.break_("door", (*seen)->holders.front().token));
    }(holder, holder));
    std::size_t looks = 0;
    std::size_t grants = 0;
    for (const auto& each : all) {
        asio::co_spawn(
            harness.executor(),
            note_look(*each, looks, grants),
            [](std::exception_ptr thrown) { EXPECT_FALSE(thrown); }
        );
    }
    EXPECT_TRUE(harness.run_until([&] { return looks == waiters; }, std::chrono::seconds(5)));
    EXPECT_EQ(grants, waiters);
}

}  // namespace
}  // namespace mortise::test
