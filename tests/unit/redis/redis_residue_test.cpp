// SPDX-License-Identifier: BSL-1.0
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace mortise::test::redis_residue_test {
namespace {

#ifdef __SANITIZE_ADDRESS__
// A client without optimization and with sanitizers takes half a millisecond of a processor for
// each: 100,000 would take nearly all of the minute that a test has, and more on a busy machine.
constexpr int names_used = 10'000;
#else
constexpr int names_used = 100'000;
#endif
constexpr int users_of_names = 1'000;  // so many commands at once on one connection

// Coroutines have their own part of the names each.
asio::awaitable<void> use_names(lock_client& locks, int from, int step) {
    for (int i = from; i < names_used; i += step) {
        auto acquiring = locks.async_acquire("name-" + std::to_string(i));
        lease held = co_await std::move(acquiring);
        auto releasing = held.async_release();
        co_await std::move(releasing);
    }
}

TEST(RedisResidue, OfManyNamesThatWereUsedNothingIsLeft) {
    const redis_server server;
    auto admin = server.connect();
    redis_store_config config;
    config.server.port = server.port();
    config.assume_new = true;
    redis_user user(config, std::chrono::seconds(30));
    auto first = user.acquire("name-0");
    ASSERT_FALSE(first.code);
    EXPECT_FALSE(user.release(first.held));
    const auto before = admin.command({"DBSIZE"}).number;
    std::vector<std::future<void>> running;
    for (int i = 0; i < users_of_names; ++i) {
        auto part = use_names(user.client(), i, users_of_names);
        running.push_back(
            asio::co_spawn(user.client().get_executor(), std::move(part), asio::use_future)
        );
    }
    for (auto& each : running)
        each.get();
    EXPECT_GE(user.client().stats().grants, static_cast<std::uint64_t>(names_used));
    EXPECT_EQ(admin.command({"DBSIZE"}).number, before);
    EXPECT_FALSE(user.stop());
    EXPECT_LE(admin.command({"DBSIZE"}).number, 3) << "what the store says of itself";
}

// As long as the mark is there, no lock is acquired or released by the short way.
TEST(RedisResidue, OfAClientThatStopsWhileItWatchesThereIsNoMark) {
    const redis_server server;
    auto admin = server.connect();
    redis_store_config config;
    config.server.port = server.port();
    config.assume_new = true;
    redis_user user(config, std::chrono::seconds(30));
    auto watching = user.client().async_wait_changed("door", std::nullopt, asio::use_future);
    EXPECT_TRUE(eventually([&] {
        return admin.command({"HEXISTS", "mortise:m", "w"}).number == 1;
    }));
    EXPECT_FALSE(user.stop());
    EXPECT_EQ(admin.command({"HEXISTS", "mortise:m", "w"}).number, 0);
}

}  // namespace
}  // namespace mortise::test::redis_residue_test
