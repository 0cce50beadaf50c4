// SPDX-License-Identifier: BSL-1.0
// What a client is shown of a lock, and short ways to it, for every store.
#include "client_fixture.hpp"
#include "mortise/lock_client.hpp"
#include "port_conformance.hpp"

#include <boost/asio/as_tuple.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

// From a session that sends no heartbeat; what lives on is shown as before.
asio::awaitable<void> show_no_dead(store_harness& harness, bool sessions) {
    peer dead(harness);
    co_await dead.open();
    co_await dead.hold("door");
    if (sessions)
        co_await dead.ask("gate");
    peer looking(harness);
    const auto before = co_await looking.port().inspect("door", 10);
    EXPECT_TRUE(before && before->has_value()) << "it holds the lock as yet";
    co_await pause(harness, harness.ttl() * 11 / 10);
    const auto one = co_await looking.port().inspect("door", 10);
    EXPECT_TRUE(one && !one->has_value()) << "nobody holds it, nobody waits";
    const auto all = co_await looking.port().list("", 10, 10);
    EXPECT_TRUE(all.has_value());
    EXPECT_TRUE(all && all->empty());
}

TEST_P(StorePort, ALookShowsNoneOfTheDeadBeforeAnyHeartbeat) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const bool sessions = harness.make_store()->traits().sessions;
        co_await show_no_dead(harness, sessions);
    }(h()));
}

TEST_P(StorePort, ALookShowsWhoLivesBesideTheDead) {
    MORTISE_NEEDS(sessions);
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer dead(harness);
        peer bob(harness);
        co_await dead.open();
        co_await dead.ask("roof");
        co_await pause(harness, harness.ttl() / 2);
        const auto opened = harness.time()->now();
        co_await bob.open();
        co_await bob.hold("door");
        co_await dead.ask("door");
        co_await bob.ask("door");
        EXPECT_EQ((*co_await bob.port().inspect("door", 10))->waiter_count, 2u);
        co_await pause(harness, harness.ttl() * 6 / 10);
        peer looking(harness);
        const auto seen = co_await looking.port().inspect("door", 10);
        const auto none = co_await looking.port().inspect("door", 0);
        if (harness.time()->now() >= opened + harness.ttl())
            co_return;  // The machine was late: by now the other one is dead, too.
        EXPECT_TRUE(seen && seen->has_value());
        if (!seen || !*seen)
            co_return;
        EXPECT_EQ((*seen)->holders.size(), 1u);
        EXPECT_EQ((*seen)->waiter_count, 1u);
        EXPECT_EQ((*seen)->waiters.size(), 1u);
        EXPECT_EQ((*seen)->waiters.at(0).session, bob.id());
        EXPECT_EQ((*none)->waiter_count, 1u);
        EXPECT_TRUE((*none)->waiters.empty());
        EXPECT_FALSE((co_await looking.port().inspect("roof", 10))->has_value());
    }(h()));
}

TEST_P(StorePort, ALookShowsNoGrantThatHasEnded) {
    MORTISE_NEEDS(hold_max);
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        co_await alice.hold_for("door", {lock_mode::exclusive(), 50ms, true});
        co_await pause(harness, 60ms);
        peer looking(harness);
        EXPECT_FALSE((co_await looking.port().inspect("door", 10))->has_value());
        EXPECT_TRUE((co_await looking.port().list("", 10, 10))->empty());
    }(h()));
}

}  // namespace
}  // namespace mortise::test
