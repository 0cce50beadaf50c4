// SPDX-License-Identifier: BSL-1.0
// A session with many watches, whose connection ends. The C client sets all of them again with one
// message, and a server that gets a message of more than a megabyte (jute.maxbuffer) hangs up.
#include "conformance/client_fixture.hpp"
#include "mortise/lock_client.hpp"
#include "unit/zookeeper/relayed_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::zookeeper_watches_test {
namespace {

using namespace std::chrono_literals;

/// A name as long as names of locks may be, of characters that take three times the room in the
/// name of a node.
std::string long_name(std::size_t number) {
    constexpr std::size_t size = 512;
    std::string name = std::to_string(number);
    name.resize(size, '-');
    return name;
}

/// What a client gets, in any order.
class leases {
public:
    void ask(lock_client& client, const std::string& name) {
        client.async_acquire(name, lock_options(), [this](error_code code, lease got) {
            EXPECT_FALSE(code) << code.message();
            held.push_back(std::move(got));
        });
    }

    std::vector<lease> held;
};

TEST(ZooKeeperManyWatches, ASessionComesBackWithAllOfThem) {
    constexpr std::size_t locks = 750;  // their watches are more than a megabyte
    constexpr std::size_t waits = 75;
    relayed_harness harness;
    harness.detour.refuse(true);
    client_config config = config_of(harness);
    config.ttl = 30s;  // on a busy machine a heartbeat waits behind thousands of requests
    lock_client one(harness.executor(), harness.make_store(), config);
    harness.relays = false;
    lock_client other(harness.executor(), harness.make_store(), config);
    leases owned;
    leases lent;
    leases waited;
    for (std::size_t i = 0; i < locks; ++i)
        owned.ask(one, long_name(i));
    for (std::size_t i = locks; i < locks + waits; ++i)
        lent.ask(other, long_name(i));
    const auto all = [&] { return owned.held.size() == locks && lent.held.size() == waits; };
    ASSERT_TRUE(harness.run_until(all, 60s));
    for (std::size_t i = locks; i < locks + waits; ++i)
        waited.ask(one, long_name(i));
    harness.pass(1s);  // until all are watched
    const auto all_held = [&] {
        return std::all_of(owned.held.begin(), owned.held.end(), [](const lease& each) {
            return each.held();
        });
    };
    ASSERT_TRUE(all_held()) << one.explain();
    const auto connections = harness.way.accepted();
    harness.way.end_connections();
    leases after;
    after.ask(one, "after");
    EXPECT_TRUE(harness.run_until([&] { return !after.held.empty(); }, 20s)) << one.explain();
    EXPECT_LE(harness.way.accepted(), connections + 3);
    EXPECT_TRUE(waited.held.empty());
    lent.held.clear();
    EXPECT_TRUE(harness.run_until([&] { return waited.held.size() == waits; }, 20s));
    EXPECT_TRUE(all_held()) << one.explain();
}

}  // namespace
}  // namespace mortise::test::zookeeper_watches_test
