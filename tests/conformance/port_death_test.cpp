// SPDX-License-Identifier: BSL-1.0
// Sessions that are let go of without a farewell, on one host.
#include "conformance/port_conformance.hpp"

#include <chrono>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

// Longer than any test: nothing here ends by a deadline.
constexpr auto long_ttl = 10min;

TEST_P(StorePortDeath, IsSeenAtOnceOnOneHost) {
    h().expect_ttl(long_ttl);
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness, long_ttl);
        peer bob(harness, long_ttl);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        co_await bob.ask("door");
        EXPECT_TRUE(co_await bob.port().beat(0));
        EXPECT_FALSE(bob.has(store_event::kind::granted));
        alice.drop();
        EXPECT_TRUE(co_await bob.hears(store_event::kind::granted, bob.last_id(), 20s));
        EXPECT_GT(bob.heard_token().value, held.token.value);
        EXPECT_FALSE(co_await bob.port().end());
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(StorePortDeath, OfNeighboursIsSeenTogether) {
    h().expect_ttl(long_ttl);
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness, long_ttl);
        peer carol(harness, long_ttl);
        peer bob(harness, long_ttl);
        co_await alice.open();
        co_await carol.open();
        co_await bob.open();
        co_await alice.hold("door");
        co_await carol.ask("door");
        co_await bob.ask("door");
        EXPECT_TRUE(co_await bob.port().beat(0));
        carol.drop();
        alice.drop();
        EXPECT_TRUE(co_await bob.hears(store_event::kind::granted, bob.last_id(), 20s));
    }(h()));
}

}  // namespace
}  // namespace mortise::test
