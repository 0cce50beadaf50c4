// SPDX-License-Identifier: BSL-1.0
// A connection that stays open and is dead: nothing comes through, and nobody says so.
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"
#include "support/proxy_thread.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

namespace mortise::test::redis_half_open_test {
namespace {

using namespace std::chrono_literals;

constexpr auto half_open_ttl = 1'500ms;

redis_store_config new_store_at(std::uint16_t port) {
    redis_store_config config;
    config.server.port = port;
    config.assume_new = true;
    return config;
}

redis_store_config with_longest_ttl(redis_store_config config, std::chrono::milliseconds ttl) {
    config.longest_ttl = ttl;
    return config;
}

/// One client that reaches the server through a proxy, and one beside it.
class RedisHalfOpen : public testing::Test {
protected:
    /// Nothing comes through the connections that there are now; new ones work.
    void kill_silently() {
        proxy_.run([](redis_proxy& proxy) {
            proxy.decide([last = proxy.connections()](const proxied_message& message) {
                const bool dead = message.connection <= last;
                return proxy_deed::of(dead ? proxy_deed::kind::stall : proxy_deed::kind::pass);
            });
        });
    }

    std::uint64_t connections() {
        return proxy_.run([](redis_proxy& proxy) { return proxy.connections(); });
    }

    bool queued(int count) {
        auto admin = server_.connect();
        return eventually([&] { return parties_at(admin, "door") == count; });
    }

    void expect_nothing_left() {
        EXPECT_FALSE(far_.stop());
        EXPECT_FALSE(near_.stop());
        for (const auto& key : server_.connect().command({"KEYS", "*"}).texts())
            EXPECT_TRUE(is_lasting(key)) << key;
    }

    redis_server server_;
    proxy_thread proxy_{server_.port()};
    redis_user far_{new_store_at(proxy_.port()), half_open_ttl};
    redis_user near_{new_store_at(server_.port()), half_open_ttl};
};

TEST_F(RedisHalfOpen, ALeaseIsKeptOverOneThatDies) {
    auto first = far_.acquire("door");
    ASSERT_FALSE(first.code);
    auto asked = near_.ask("door");
    ASSERT_TRUE(queued(2));
    const auto before = connections();
    const machine_delay delay;
    const auto killed = clock::now();
    kill_silently();
    EXPECT_TRUE(eventually([&] { return connections() > before; }));
    // The next heartbeat is sent within a third of the TTL, and doubted after another one.
    EXPECT_LT(clock::now() - killed, 2 * half_open_ttl / 3 + 200ms + delay.so_far());
    EXPECT_FALSE(eventually([&] { return !first.held.held(); }, half_open_ttl));
    EXPECT_EQ(asked.wait_for(0s), std::future_status::timeout);
    const auto token = first.held.token().value;
    EXPECT_FALSE(far_.release(first.held));
    auto second = outcome_of(asked);
    EXPECT_GT(second.held.token().value, token);
    EXPECT_FALSE(near_.release(second.held));
    expect_nothing_left();
}

TEST_F(RedisHalfOpen, AWaiterIsServedOverOneThatDies) {
    auto first = near_.acquire("door");
    ASSERT_FALSE(first.code);
    auto asked = far_.ask("door");
    ASSERT_TRUE(queued(2));
    // It knows that it is queued: answers come in the order of the questions.
    far_.client().async_inspect("door", 0, asio::use_future).get();
    kill_silently();
    const auto token = first.held.token().value;
    const machine_delay delay;
    const auto released = clock::now();
    EXPECT_FALSE(near_.release(first.held));
    auto second = outcome_of(asked);
    ASSERT_FALSE(second.code) << second.code.message();
    EXPECT_LT(second.at - released, half_open_ttl + delay.so_far())
        << "it was noticed, not waited out";
    EXPECT_TRUE(second.held.held());
    EXPECT_GT(second.held.token().value, token);
    EXPECT_FALSE(far_.release(second.held));
    expect_nothing_left();
}

TEST_F(RedisHalfOpen, AReleaseGoesThroughOverOneThatDies) {
    auto first = far_.acquire("door");
    ASSERT_FALSE(first.code);
    const auto token = first.held.token().value;
    auto asked = near_.ask("door");
    ASSERT_TRUE(queued(2));
    kill_silently();
    const machine_delay delay;
    const auto released = clock::now();
    const auto code = far_.release(first.held);
    EXPECT_TRUE(!code || code == errc::outcome_unknown) << code.message();
    auto second = outcome_of(asked);
    ASSERT_FALSE(second.code) << second.code.message();
    EXPECT_LT(second.at - released, half_open_ttl + delay.so_far())
        << "it was noticed, not waited out";
    EXPECT_GT(second.held.token().value, token);
    EXPECT_FALSE(near_.release(second.held));
    expect_nothing_left();
}

TEST_F(RedisHalfOpen, ARequestEndsInTimeOverOneThatDies) {
    auto window = far_.acquire("window");
    ASSERT_FALSE(window.code);
    kill_silently();
    const machine_delay delay;
    const auto begun = clock::now();
    auto first = far_.acquire("door");
    EXPECT_LT(clock::now() - begun, half_open_ttl + delay.so_far());
    ASSERT_FALSE(first.code) << first.code.message() << ": " << far_.explain();
    EXPECT_TRUE(window.held.held()) << "it was noticed in time";
    EXPECT_FALSE(far_.release(first.held));
    auto again = far_.acquire("door");
    ASSERT_FALSE(again.code) << again.code.message() << ": " << far_.explain();
    EXPECT_FALSE(far_.release(again.held));
    EXPECT_FALSE(far_.release(window.held));
    expect_nothing_left();
}

// Many commands at once take longer than one may; answers that come say that more will come.
TEST_F(RedisHalfOpen, ASlowConnectionIsNotGivenUpWhileItAnswers) {
    constexpr int count = 100;
    auto window = far_.acquire("window");
    ASSERT_FALSE(window.code);
    const auto before = connections();
    proxy_.run([](redis_proxy& proxy) {
        proxy.decide([](const proxied_message& message) {
            return message.type == proxied_message::kind::reply ? proxy_deed::late(8ms)
                                                                : proxy_deed();
        });
    });
    const auto begun = clock::now();
    std::vector<std::future<acquired>> asked;
    for (int i = 0; i < count; ++i)
        asked.push_back(far_.ask("name-" + std::to_string(i)));
    for (auto& each : asked) {
        auto got = outcome_of(each);
        ASSERT_FALSE(got.code) << got.code.message() << ": " << far_.explain();
        got.held = lease();
    }
    EXPECT_GT(clock::now() - begun, half_open_ttl / 3) << "it was not slow";
    EXPECT_EQ(connections(), before);
    EXPECT_TRUE(window.held.held());
    proxy_.run([](redis_proxy& proxy) { proxy.decide(nullptr); });
    EXPECT_FALSE(far_.release(window.held));
    expect_nothing_left();
}

// Both ways of all connections, old and new: the network is gone.
TEST_F(RedisHalfOpen, ANetworkThatIsGoneLosesTheLeaseBeforeAnotherHasIt) {
    auto first = far_.acquire("door");
    ASSERT_FALSE(first.code);
    auto asked = near_.ask("door");
    ASSERT_TRUE(queued(2));
    proxy_.run([](redis_proxy& proxy) {
        proxy.hold(redis_proxy::way::to_server);
        proxy.hold(redis_proxy::way::to_client);
    });
    const machine_delay delay;
    const auto cut = clock::now();
    auto second = outcome_of(asked);
    ASSERT_FALSE(second.code);
    EXPECT_LE(second.at - cut, half_open_ttl + 250ms + delay.so_far());
    EXPECT_FALSE(first.held.held());
    EXPECT_LE(first.held.valid_until(), second.at);
    proxy_.run([](redis_proxy& proxy) {
        proxy.let_through(redis_proxy::way::to_server);
        proxy.let_through(redis_proxy::way::to_client);
    });
    EXPECT_TRUE(eventually([&] { return first.held.state() == lease_state::lost; }));
    EXPECT_TRUE(second.held.held());
    EXPECT_FALSE(near_.release(second.held));
    EXPECT_TRUE(eventually([&] { return !far_.acquire("door", 2s).code; }));
    expect_nothing_left();
}

// Its heartbeats are 20 s apart, and a push that is lost is told by nobody.
TEST_F(RedisHalfOpen, AnIdleConnectionIsFoundDeadLongBeforeAHeartbeatOfALongTtl) {
    redis_user patient(with_longest_ttl(new_store_at(proxy_.port()), 60s), 60s);
    auto held = patient.acquire("cellar");
    ASSERT_FALSE(held.code) << held.code.message();
    const auto before = connections();
    const machine_delay delay;
    const auto killed = clock::now();
    kill_silently();
    ASSERT_TRUE(eventually([&] { return connections() > before; }));
    // Looked at every 2 s, asked when it was silent for 2 s, left after 2 s without an answer.
    EXPECT_LT(clock::now() - killed, 7s + delay.so_far());
    EXPECT_FALSE(patient.release(held.held));
    EXPECT_FALSE(patient.stop());
}

}  // namespace
}  // namespace mortise::test::redis_half_open_test
