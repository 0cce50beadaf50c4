// SPDX-License-Identifier: BSL-1.0
// Clients of one store with different TTLs: one that comes to a server which has forgotten all
// waits for those whom it can know nothing of.
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"
#include "support/proxy_thread.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace mortise::test::redis_longest_ttl_test {
namespace {

using namespace std::chrono_literals;

constexpr auto short_ttl = 300ms;

redis_store_config with_longest(std::uint16_t port, std::chrono::milliseconds longest) {
    redis_store_config config;
    config.server.port = port;
    config.longest_ttl = longest;
    return config;
}

/// In milliseconds, of all that sessions claim there.
int largest_at(const redis_server& server) {
    int largest = 0;
    for (const auto& each : server.connect().command({"ZRANGE", store_key("u"), "0", "-1"}).items)
        largest = std::max(largest, std::stoi(each.text));
    return largest;
}

class RedisLongestTtl : public testing::Test {
protected:
    /// Somebody holds the lock for long, the network holds back whatever is said to it or by it,
    /// and the server is flushed.
    lease forgotten_holder(redis_user& holder) {
        auto first = holder.acquire("door");
        EXPECT_FALSE(first.code) << first.code.message();
        proxy_.run([](redis_proxy& proxy) {
            proxy.hold(redis_proxy::way::to_server);
            proxy.hold(redis_proxy::way::to_client);
        });
        server_.connect().command({"FLUSHALL"});
        EXPECT_TRUE(first.held.held()) << "it can not know";
        return std::move(first.held);
    }

    /// The network works again, for the holder to end in peace.
    void let_through() {
        proxy_.run([](redis_proxy& proxy) {
            proxy.let_through(redis_proxy::way::to_server);
            proxy.let_through(redis_proxy::way::to_client);
        });
    }

    redis_store_config far() {
        auto config = with_longest(proxy_.port(), 5s);
        config.assume_new = true;
        return config;
    }

    int largest() { return largest_at(server_); }

    redis_server server_;
    proxy_thread proxy_{server_.port()};
};

TEST_F(RedisLongestTtl, IsWaitedForByANewcomerWithAShortOneAfterAFlush) {
    redis_user holder(far(), 5s);
    const lease held = forgotten_holder(holder);
    redis_user newcomer(with_longest(server_.port(), redis_store_config().longest_ttl), short_ttl);
    auto second = newcomer.acquire("door");
    ASSERT_FALSE(second.code) << second.code.message() << ": " << newcomer.explain();
    EXPECT_LE(held.valid_until(), second.at) << "two held it";
    EXPECT_FALSE(held.held());
    let_through();
}

// The promise rests on the setting, and on nothing that would hide its lack.
TEST_F(RedisLongestTtl, ThatIsSetTooShortLetsTwoHold) {
    redis_user holder(far(), 5s);
    const lease held = forgotten_holder(holder);
    redis_user newcomer(with_longest(server_.port(), short_ttl), short_ttl);
    auto second = newcomer.acquire("door");
    ASSERT_FALSE(second.code) << second.code.message() << ": " << newcomer.explain();
    EXPECT_GT(held.valid_until(), second.at);
    let_through();
}

TEST_F(RedisLongestTtl, IsRememberedByTheStore) {
    redis_user brief(server_.port(), short_ttl);
    ASSERT_FALSE(brief.acquire("door").code);
    EXPECT_EQ(largest(), 300);
    redis_user careful(with_longest(server_.port(), 5s), short_ttl);
    ASSERT_FALSE(careful.acquire("window").code);
    EXPECT_EQ(largest(), 5'000);
    redis_user slow(with_longest(server_.port(), 5s), 20s);
    ASSERT_FALSE(slow.acquire("gate").code);
    EXPECT_EQ(largest(), 20'000);
    redis_user late(server_.port(), short_ttl);
    ASSERT_FALSE(late.acquire("roof").code);
    EXPECT_EQ(largest(), 20'000) << "its session lives";
}

// A client with a TTL of an hour, long gone, once made every later restart wait for an hour.
TEST(RedisLongTtl, CountsUntilItsLastDeadline) {
    redis_server server({"appendonly yes", "appendfsync always"});
    redis_user brief(with_longest(server.port(), short_ttl), short_ttl);
    auto window = brief.acquire("window");
    ASSERT_FALSE(window.code) << brief.explain();
    {
        redis_user slow(with_longest(server.port(), short_ttl), 4s);
        ASSERT_FALSE(slow.acquire("door").code);
        EXPECT_EQ(largest_at(server), 4'000);
    }
    EXPECT_EQ(largest_at(server), 4'000) << "somebody may still believe in a lease of it";
    EXPECT_TRUE(eventually([&] {
        if (!window.held.held())  // A busy machine has used up its TTL: another session counts on.
            window = brief.acquire("window", 10s);
        return largest_at(server) == 300;
    }));
    server.kill();
    server.start();
    const machine_delay delay;
    const auto begun = clock::now();
    auto got = brief.acquire("door", 20s);
    EXPECT_FALSE(got.code) << got.code.message() << ": " << brief.explain();
    EXPECT_LT(clock::now() - begun, 3s + delay.so_far());
}

/// For how long nothing is granted after a restart, in seconds, if a session with a TTL of an hour
/// was last heard of more than two hours ago, and nobody has used the store since.
long long quarantine_long_after(redis_server& server) {
    constexpr auto ttl = 2s;
    auto config = with_longest(server.port(), ttl);
    config.assume_new = true;
    {
        redis_user user(config, ttl);
        EXPECT_FALSE(user.acquire("door").code) << user.explain();
    }
    const auto now_at = [](raw_redis& admin) {
        return std::stoll(admin.command({"TIME"}).items.at(0).text);
    };
    auto before = server.connect();
    const auto over = std::to_string(now_at(before) - 3'700) + "000000";
    before.command({"ZADD", store_key("u"), over, "3600000"});
    before.command({"SAVE"});
    server.kill();
    server.start();
    redis_user next(config, ttl);
    const auto asked = next.ask("door", 1s);
    auto after = server.connect();
    long long until = 0;
    EXPECT_TRUE(eventually([&] {
        const auto tokens = after.command({"HGET", store_key("s"), "t"}).text;
        const auto end = tokens.find(' ');
        until = end == std::string::npos ? 0 : std::stoll(tokens.substr(end)) / 1'000'000;
        return until != 0;
    }));
    return until - now_at(after);
}

// Nobody's heartbeat had removed the claim of the hour.
TEST(RedisLongTtl, OfTheDeadIsForgottenThoughNobodyCameMeanwhile) {
    redis_server server({"appendonly yes", "appendfsync always"});
    EXPECT_LE(quarantine_long_after(server), 2);
}

// The data of such a server may be old: the session may have lived until the restart.
TEST(RedisLongTtl, OfTheDeadCountsIfTheServerKeepsNoLog) {
    redis_server server({"save 3600 1"});
    EXPECT_GT(quarantine_long_after(server), 3'000);
}

}  // namespace
}  // namespace mortise::test::redis_longest_ttl_test
