// SPDX-License-Identifier: BSL-1.0
// The clock of the server is set back: earlier times in the data lie too far ahead.
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"
#include "support/proxy_thread.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace mortise::test::redis_clock_test {
namespace {

using namespace std::chrono_literals;

constexpr auto ttl = 600ms;
constexpr std::uint64_t minute = 60'000'000;

redis_store_config at(std::uint16_t port) {
    redis_store_config config;
    config.server.port = port;
    config.assume_new = true;
    config.longest_ttl = ttl;
    return config;
}

std::string later(const std::string& micros) {
    return std::to_string(std::stoull(micros) + minute);
}

// Makes all times in the data those of a clock that went a minute ahead.
void set_back(raw_redis& admin) {
    const auto sessions = sessions_at(admin);
    ASSERT_FALSE(sessions.empty());
    for (const auto& each : sessions) {
        std::string text = admin.command({"HGET", store_key("s"), each}).text;
        const auto from = text.find(' ') + 1;
        const auto deadline = text.substr(from, text.find(' ', from) - from);
        text.replace(from, deadline.size(), later(deadline));
        admin.command({"HSET", store_key("s"), each, text});
        admin.command({"ZADD", store_key("d"), "XX", later(deadline), each});
    }
}

TEST(RedisClock, ThatIsSetBackKeepsNoDeadHolderAlive) {
    const redis_server server;
    proxy_thread proxy(server.port());
    redis_user dead(at(proxy.port()), ttl);
    redis_user waiter(at(server.port()), ttl);
    auto held = dead.acquire("door");
    ASSERT_FALSE(held.code);
    auto asked = waiter.ask("door");
    EXPECT_EQ(asked.wait_for(ttl), std::future_status::timeout);
    proxy.run([](redis_proxy& each) {
        each.hold(redis_proxy::way::to_server);
        each.hold(redis_proxy::way::to_client);
    });
    auto admin = server.connect();
    set_back(admin);
    const machine_delay delay;
    const auto begun = clock::now();
    auto got = outcome_of(asked);
    EXPECT_FALSE(got.code) << got.code.message();
    EXPECT_LT(clock::now() - begun, 10s + delay.so_far()) << "and not a minute";
    EXPECT_GE(got.at, held.held.valid_until());
    EXPECT_FALSE(held.held.held()) << "two hold it";
    proxy.run([](redis_proxy& each) {
        each.let_through(redis_proxy::way::to_server);
        each.let_through(redis_proxy::way::to_client);
    });
}

TEST(RedisClock, ThatIsSetBackProlongsNoQuarantine) {
    const redis_server server;
    redis_user user(at(server.port()), ttl);
    ASSERT_FALSE(user.acquire("window").code);
    auto admin = server.connect();
    const auto time = admin.command({"TIME"});
    const auto now =
        time.items[0].text + std::string(6 - time.items[1].text.size(), '0') + time.items[1].text;
    admin.command({"HSET", store_key("s"), "t", now + ' ' + later(now) + " 0"});
    auto got = user.acquire("door", 10s);
    EXPECT_FALSE(got.code) << got.code.message();
}

}  // namespace
}  // namespace mortise::test::redis_clock_test
