// SPDX-License-Identifier: BSL-1.0
// A server that does not know our scripts yet, or has forgotten them.
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::redis_script_cache_test {
namespace {

using namespace std::chrono_literals;

redis_store_config new_store_at(std::uint16_t port) {
    redis_store_config config;
    config.server.port = port;
    config.assume_new = true;
    return config;
}

/// How often the server carried out `command`, refused calls not counted.
std::int64_t calls_of(raw_redis& admin, const std::string& command) {
    auto stats = admin.info("commandstats");
    const std::string line = stats["cmdstat_" + command];
    const auto number = [&](const std::string& field) -> std::int64_t {
        const auto found = line.find(field + '=');
        return found == std::string::npos ? 0 : std::stoll(line.substr(found + field.size() + 1));
    };
    return number("calls") - number("failed_calls");
}

/// A client that drops a lease and tries to have it again in the same breath.
bool is_free_at_once(redis_user& user) {
    auto first = user.acquire("door");
    EXPECT_FALSE(first.code) << first.code.message();
    std::promise<acquired> tried;
    auto outcome = tried.get_future();
    // On the client's thread: nothing runs between the two.
    asio::post(user.client().get_executor(), [&, held = std::move(first.held)]() mutable {
        held = lease();
        user.client().async_try_acquire(
            "door",
            lock_options(),
            [&](error_code code, std::optional<lease> got) {
                tried.set_value({code, got ? std::move(*got) : lease(), clock::now()});
            }
        );
    });
    auto second = outcome_of(outcome);
    EXPECT_FALSE(second.code) << second.code.message();
    const bool got = second.held.held();
    if (got) {
        EXPECT_FALSE(user.release(second.held));
    }
    return got;
}

TEST(RedisScriptCache, ANewServerKeepsTheOrderOfTheCalls) {
    const redis_server server;
    redis_user user(new_store_at(server.port()));
    EXPECT_TRUE(is_free_at_once(user)) << "the try was carried out before the release";
}

TEST(RedisScriptCache, AServerThatForgetsKeepsTheOrderOfTheCalls) {
    const redis_server server;
    redis_user user(new_store_at(server.port()));
    auto admin = server.connect();
    for (int round = 0; round < 10; ++round) {
        admin.command({"SCRIPT", "FLUSH"});
        EXPECT_TRUE(is_free_at_once(user)) << "in round " << round;
    }
    EXPECT_EQ(user.client().stats().lost, 0u);
}

TEST(RedisScriptCache, WhoMayNotLoadScriptsSendsThemInOrder) {
    const redis_server server(
        {"user default on nopass ~* &* +@all", "user shop on >secret ~* &* +@all -script"}
    );
    auto config = new_store_at(server.port());
    config.user = "shop";
    config.password = "secret";
    redis_user user(config);
    auto admin = server.connect();
    EXPECT_TRUE(is_free_at_once(user));
    admin.command({"SCRIPT", "FLUSH"});
    EXPECT_TRUE(is_free_at_once(user));
}

TEST(RedisScriptCache, IsFilledOnceByAllClients) {
    const redis_server server;
    auto admin = server.connect();
    redis_user one(new_store_at(server.port()));
    auto first = one.acquire("door");
    ASSERT_FALSE(first.code);
    const auto loaded = calls_of(admin, "script|load");
    EXPECT_GT(loaded, 10);
    redis_user other(new_store_at(server.port()));
    auto asked = other.ask("door");
    EXPECT_FALSE(one.release(first.held));
    EXPECT_FALSE(outcome_of(asked).code);
    EXPECT_EQ(calls_of(admin, "script|load"), loaded) << "the second client found all of them";
    EXPECT_EQ(calls_of(admin, "eval"), 0);
}

// Each of them once sent the text of its script again: 835 MB for 50,000, and all leases lost.
TEST(RedisScriptCache, ThousandsInFlightSendAForgottenScriptOnce) {
    constexpr int commands = 4'000;
    const redis_server server;
    redis_user user(new_store_at(server.port()), 10s);  // a busy machine takes seconds for them
    auto admin = server.connect();
    auto kept = user.acquire("kept");
    ASSERT_FALSE(kept.code);
    const auto bytes = [&] { return std::stoll(admin.info("stats")["total_net_input_bytes"]); };
    const auto before = bytes();
    std::vector<std::future<acquired>> asked;
    for (int i = 0; i < commands; ++i) {
        asked.push_back(user.ask("lock " + std::to_string(i)));
        if (i % (commands / 20) == 0)
            admin.command({"SCRIPT", "FLUSH"});
    }
    for (auto& each : asked) {
        EXPECT_FALSE(outcome_of(each).code);
    }
    EXPECT_TRUE(kept.held.held());
    EXPECT_EQ(user.client().stats().lost, 0u);
    EXPECT_LT(calls_of(admin, "eval"), 20 * 5) << "a script was sent again for each command";
    EXPECT_LT(bytes() - before, 8'000'000);
}

}  // namespace
}  // namespace mortise::test::redis_script_cache_test
