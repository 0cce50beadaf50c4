// SPDX-License-Identifier: BSL-1.0
// A Redis server that loses its connections, or is away for a moment, while many wait.
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/with_lock.hpp"
#include "support/eventually.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace mortise::test::redis_outage_test {
namespace {

using namespace std::chrono_literals;

redis_store_config new_store_at(std::uint16_t port) {
    redis_store_config config;
    config.server.port = port;
    config.assume_new = true;
    return config;
}

void kill_connections(const redis_server& server) {
    auto admin = server.connect();
    admin.command({"CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes"});
    admin.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
}

// One lost connection once ended all of them with `outcome_unknown`.
TEST(RedisOutage, LostConnectionsEndNoWait) {
    const redis_server server;
    redis_user holder(new_store_at(server.port()), 2s);
    redis_user waiter(new_store_at(server.port()), 2s);
    constexpr int locks = 200;
    std::vector<acquired> held;
    for (int i = 0; i < locks; ++i)
        held.push_back(holder.acquire("lock " + std::to_string(i)));
    std::vector<std::future<acquired>> asked;
    for (int i = 0; i < locks; ++i) {
        asked.push_back(waiter.ask("lock " + std::to_string(i), 60s));
        if (i == locks / 3 || i == locks / 2)
            kill_connections(server);  // in the middle of their requests
    }
    for (auto& each : held) {
        EXPECT_FALSE(holder.release(each.held)) << holder.explain();
    }
    for (auto& each : asked) {
        auto got = outcome_of(each);
        EXPECT_FALSE(got.code) << got.code.message();
    }
    EXPECT_EQ(waiter.client().stats().failed, 0u);
}

TEST(RedisOutage, AnAcquireRightAfterALossWorks) {
    const redis_server server;
    redis_user user(new_store_at(server.port()), 2s);
    for (int round = 0; round < 5; ++round) {
        auto before = user.acquire("window");
        ASSERT_FALSE(before.code);
        kill_connections(server);
        auto got = user.acquire("door", 5s);
        EXPECT_FALSE(got.code) << got.code.message();
        EXPECT_FALSE(user.release(got.held));
        EXPECT_FALSE(user.release(before.held));
    }
}

TEST(RedisOutage, AServerThatIsAwayForASecondEndsNoWait) {
    redis_server server({"appendonly yes", "appendfsync always"});
    redis_user user(new_store_at(server.port()), 5s);
    auto before = user.acquire("window");
    ASSERT_FALSE(before.code);
    server.kill();
    auto asked = user.ask("door", 20s);
    EXPECT_EQ(asked.wait_for(1s), std::future_status::timeout);
    server.start();
    auto got = outcome_of(asked);
    EXPECT_FALSE(got.code) << got.code.message();
    EXPECT_TRUE(before.held.held());
    EXPECT_EQ(user.client().stats().lost, 0u);
}

TEST(RedisOutage, AReplicaThatIsAwayForAMomentEndsNoWait) {
    const redis_server server;
    redis_server replica({replica_of(server)});
    auto admin = server.connect();
    await_replicas(admin, 1);
    auto config = new_store_at(server.port());
    config.min_replicas = 1;
    constexpr auto ttl = 3s;
    redis_user user(config, ttl);
    auto before = user.acquire("window");
    ASSERT_FALSE(before.code) << before.code.message() << ": " << user.explain();
    replica.suspend();
    auto asked = user.ask("door", 20s);
    // Longer than two waits for replicas: that of a heartbeat may be under way.
    EXPECT_EQ(asked.wait_for(ttl), std::future_status::timeout);
    replica.resume();
    auto got = outcome_of(asked);
    EXPECT_FALSE(got.code) << got.code.message() << ": " << user.explain();
    replica.suspend();
    EXPECT_EQ(user.acquire("gate", ttl).code, errc::not_enough_replicas);
    replica.resume();
}

TEST(RedisOutage, AServerThatStaysAwayIsTheReason) {
    redis_server server;
    redis_user user(new_store_at(server.port()), 2s);
    auto before = user.acquire("window");
    ASSERT_FALSE(before.code);
    server.kill();
    EXPECT_EQ(user.acquire("door", 300ms).code, errc::store_unavailable);
    server.start();
}

// "An outage shorter than the window loses nothing": the body was told to stop because of a doubt
// that was over after some milliseconds.
TEST(RedisOutage, ARestartStopsNoBodyWhoseLeaseIsProvedInTime) {
    redis_server server({"appendonly yes", "appendfsync always"});
    redis_store_config config;
    config.server.port = server.port();
    redis_user user(config, 3s);
    ASSERT_FALSE(user.acquire("window").code) << "the quarantine of a new store is over";
    const auto looks = user.client().stats().looks;
    const auto time = coro::make_boot_time_source(user.client().get_executor());
    auto ran = asio::co_spawn(
        user.client().get_executor(),
        [&]() -> asio::awaitable<void> {
            const auto body = [&](const lease& held) -> asio::awaitable<void> {
                co_await coro::sleep_for(*time, 2s);
                EXPECT_TRUE(held.held());
            };
            co_await with_lock(user.client(), "door", lock_options(), body);
        },
        asio::use_future
    );
    auto admin = server.connect();
    ASSERT_TRUE(eventually([&] { return parties_at(admin, "door") == 1; }));
    server.kill();
    server.start();
    EXPECT_NO_THROW(ran.get());
    EXPECT_GT(user.client().stats().looks, looks) << "the restart was not noticed";
}

}  // namespace
}  // namespace mortise::test::redis_outage_test
