// SPDX-License-Identifier: BSL-1.0
#include "support/eventually.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <optional>

namespace mortise::test::redis_residue_test {
namespace {

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
        return admin.command({"HGET", store_key("s"), "t"}).text.ends_with(" 1");
    }));
    EXPECT_FALSE(user.stop());
    EXPECT_FALSE(admin.command({"HGET", store_key("s"), "t"}).text.ends_with(" 1"));
}

}  // namespace
}  // namespace mortise::test::redis_residue_test
