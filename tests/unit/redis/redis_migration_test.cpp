// SPDX-License-Identifier: BSL-1.0
// A store as version 0.1 left it at its server.
#include "support/eventually.hpp"
#include "support/raw_redis.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::test::redis_migration_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t last_base = 4'000'000'000'000'000;  // In the year 2096.

std::string micros_at(raw_redis& admin, std::chrono::seconds later) {
    const auto time = admin.command({"TIME"});
    return std::to_string(
        std::stoll(time.items.at(0).text) * 1'000'000 + std::chrono::microseconds(later).count()
    );
}

// A session with a lock for itself, one for which another one waits, and a record of a break.
void write_old_store(raw_redis& admin, const std::string& deadline) {
    const auto tell = [&](const std::vector<std::string>& words) { admin.command(words); };
    tell(
        {"HSET", "mortise:id", "f", "1", "n", std::string(32, 'a'), "r", "another-run", "o", "shop"}
    );
    tell({"SET", "mortise:t", std::to_string(last_base)});
    tell({"ZADD", "mortise:u", deadline, "600"});
    tell({"HSET", "mortise:s:AAAAAAAA",
          "i",    std::string(32, 'b'),
          "g",    "1",
          "d",    deadline,
          "t",    "600",
          "c",    "0",
          "q",    "0",
          "h",    "host",
          "l",    "label",
          "p",    "42"});
    tell({"HSET", "mortise:s:AAAAAAAA", "1", "a x 5 door", "2", "g x - 7 6 0 a window"});
    tell({"HSET", "mortise:s:BBBBBBBB", "d", deadline, "3", "w x - 8 a window"});
    tell({"ZADD", "mortise:d", deadline, "AAAAAAAA", deadline, "BBBBBBBB"});
    tell({"SET", "mortise:l:door", "AAAAAAAA:1"});
    tell({"ZADD", "mortise:l:a window", "-4503599627370495", "AAAAAAAA:2:x", "2", "BBBBBBBB:3:x"});
    tell({"LPUSH", "mortise:b", "16:17000000000000004:roof1:51:02:me3:why1:0"});
}

TEST(RedisMigration, TakesOverAStoreOfTheFirstFormatThatNobodyUses) {
    const redis_server server;
    auto admin = server.connect();
    write_old_store(admin, micros_at(admin, -10s));
    redis_user user(server.port());
    auto door = user.acquire("door");
    ASSERT_FALSE(door.code) << door.code.message() << ": " << user.explain();
    EXPECT_GT(door.held.token().base(), last_base) << "tokens go on";
    EXPECT_EQ(door.held.token().domain.name(), "shop");
    auto window = user.acquire("a window");
    EXPECT_FALSE(window.code);
    const auto breaks = user.client().async_breaks("", 9, asio::use_future).get();
    ASSERT_EQ(breaks.size(), 1u);
    EXPECT_EQ(breaks[0].name, "roof");
    EXPECT_FALSE(user.stop());
    for (const auto& key : admin.command({"KEYS", "*"}).texts())
        EXPECT_TRUE(is_lasting(key)) << key;
    EXPECT_EQ(admin.command({"HGET", "mortise:id", "f"}).text, "2")
        << "a program of 0.1 refuses it";
}

TEST(RedisMigration, WaitsUntilTheProgramsOfTheFirstFormatAreGone) {
    const redis_server server;
    auto admin = server.connect();
    write_old_store(admin, micros_at(admin, 600s));
    redis_user user(server.port());
    auto early = user.acquire("door", 0ms);
    EXPECT_EQ(early.code, errc::store_unavailable) << early.code.message();
    EXPECT_NE(user.explain().find("an older version"), std::string::npos) << user.explain();
    EXPECT_EQ(admin.command({"HGET", "mortise:id", "f"}).text, "1") << "nothing is changed";
    EXPECT_EQ(admin.command({"EXISTS", "mortise:l:door"}).number, 1);
    const auto over = micros_at(admin, -1s);
    admin.command({"ZADD", "mortise:d", over, "AAAAAAAA", over, "BBBBBBBB"});
    auto door = user.acquire("door");
    EXPECT_FALSE(door.code) << door.code.message() << ": " << user.explain();
}

// Otherwise both would grant the same locks.
TEST(RedisMigration, OfNothingLeavesAMarkForProgramsOfTheFirstFormat) {
    const redis_server server;
    auto config = redis_store_config();
    config.server.port = server.port();
    config.assume_new = true;
    redis_user user(config);
    ASSERT_FALSE(user.acquire("door").code);
    EXPECT_EQ(server.connect().command({"HGET", "mortise:id", "f"}).text, "2");
}

TEST(RedisMigration, ANewerFormatIsRefused) {
    const redis_server server;
    auto admin = server.connect();
    admin.command({"HSET", store_key("id"), "f", "3"});
    redis_user user(server.port());
    EXPECT_EQ(user.acquire("door", 5s).code, errc::newer_format);
}

}  // namespace
}  // namespace mortise::test::redis_migration_test
