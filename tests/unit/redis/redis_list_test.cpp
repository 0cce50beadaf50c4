// SPDX-License-Identifier: BSL-1.0
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mortise::test::redis_list_test {
namespace {

// More than fit into one portion of what a session has, and of what is asked of locks.
constexpr std::size_t names_held = 1'300;

asio::awaitable<std::vector<lease>> hold(lock_client& locks, std::vector<std::string> names) {
    std::vector<lease> held;
    for (auto& name : names) {
        auto acquiring = locks.async_acquire(std::move(name));
        held.push_back(co_await std::move(acquiring));
    }
    co_return held;
}

asio::awaitable<std::vector<lock_view>>
page(lock_client& locks, std::string after, std::size_t limit) {
    auto listing = locks.async_list(std::move(after), limit, 3);
    co_return co_await std::move(listing);
}

auto on(lock_client& locks, auto task) {
    return asio::co_spawn(locks.get_executor(), std::move(task), asio::use_future).get();
}

TEST(RedisList, OfManyLocksOfSeveralSessionsHasThemAllInOrderPageByPage) {
    const redis_server server;
    redis_store_config config;
    config.server.port = server.port();
    config.assume_new = true;
    redis_user alice(config, std::chrono::seconds(5));
    redis_user bob(config, std::chrono::seconds(5));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < names_held; ++i)
        names.push_back("lock-" + std::to_string(i * 7919 % 10'007));
    const auto half = names.begin() + names_held / 2;
    auto of_alice = on(alice.client(), hold(alice.client(), {names.begin(), half}));
    auto of_bob = on(bob.client(), hold(bob.client(), {half, names.end()}));
    std::sort(names.begin(), names.end());

    std::vector<std::string> listed;
    for (;;) {
        const std::string after = listed.empty() ? "" : listed.back();
        const auto some = on(alice.client(), page(alice.client(), after, 500));
        for (const auto& each : some) {
            EXPECT_EQ(each.holders.size(), 1u) << each.name;
            listed.push_back(each.name);
        }
        if (some.size() < 500)
            break;
    }
    EXPECT_EQ(listed, names);

    for (auto& held : of_alice)
        alice.release(held);
    const auto rest = on(bob.client(), page(bob.client(), "", names_held));
    EXPECT_EQ(rest.size(), of_bob.size());
}

}  // namespace
}  // namespace mortise::test::redis_list_test
