// SPDX-License-Identifier: BSL-1.0
// A server that may have forgotten its grants: a waiter is told so, and for how long.
#include "mortise/with_lock.hpp"
#include "support/eventually.hpp"
#include "support/proxy_thread.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>

namespace mortise::test::redis_quarantine_test {
namespace {

using namespace std::chrono_literals;

redis_store_config at(std::uint16_t port, bool assume_new) {
    redis_store_config config;
    config.server.port = port;
    config.assume_new = assume_new;
    config.longest_ttl = 3s;
    return config;
}

error_code try_to_get(redis_user& user, const std::string& name) {
    auto trying = user.client().async_try_acquire(name, lock_options(), asio::use_future);
    try {
        return trying.get() ? error_code() : error_code(errc::busy);
    } catch (const boost::system::system_error& why) {
        return why.code();
    }
}

/// Opens the session of a user, which may take longer than somebody waits.
std::future<acquired> opened(redis_user& user) {
    auto asked = user.ask("window");
    EXPECT_TRUE(eventually([&] { return user.client().stats().sessions == 1; }));
    return asked;
}

TEST(RedisQuarantine, IsNotCalledBusy) {
    const redis_server server;
    redis_user user(at(server.port(), false), 1s);
    const auto asked = opened(user);
    EXPECT_EQ(user.acquire("door", 300ms).code, errc::quarantined);
    EXPECT_EQ(try_to_get(user, "door"), errc::quarantined);
    const auto text = user.explain();
    EXPECT_NE(text.find("grants nothing for another"), std::string::npos) << text;
    const auto findings = user.client().async_examine(asio::use_future).get();
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const auto& each) {
        return each.subject == "quarantine" && each.found.find("assume_new") != std::string::npos;
    }));
    auto got = user.acquire("door", 20s);
    EXPECT_FALSE(got.code) << got.code.message();
    EXPECT_EQ(user.explain().find("grants nothing"), std::string::npos) << user.explain();
    EXPECT_EQ(try_to_get(user, "door"), errc::busy) << "it is held by now";
}

/// A replica has all that was written so far.
void expect_copy(raw_redis& primary) {
    primary.command({"SET", "probe", "1"});
    EXPECT_EQ(primary.command({"WAIT", "1", "10000"}).number, 1);
}

// Its own grants are forgotten with its data, though it did not stop.
TEST(RedisQuarantine, BeginsWhereAServerFollowedAnotherOneMeanwhile) {
    const redis_server server;
    const redis_server other({replica_of(server)});
    auto admin = server.connect();
    redis_user alice(at(server.port(), true), 3s);
    ASSERT_FALSE(alice.acquire("window").code) << alice.explain();
    expect_copy(admin);
    other.connect().command({"REPLICAOF", "NO", "ONE"});
    const auto held = alice.acquire("door");
    ASSERT_FALSE(held.code) << alice.explain();
    admin.command({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
    EXPECT_TRUE(eventually([&] { return admin.info("replication")["master_link_status"] == "up"; })
    );
    admin.command({"REPLICAOF", "NO", "ONE"});
    redis_user bob(at(server.port(), true), 3s);
    const auto asked = opened(bob);
    EXPECT_EQ(bob.acquire("door", 300ms).code, errc::quarantined) << bob.explain();
}

/// Returns the text of the error of a `with_lock` that waits for so long, if it has this code.
std::future<std::string>
refusal_of(lock_client& locks, std::chrono::milliseconds wait_max, error_code code) {
    return asio::co_spawn(
        asio::make_strand(locks.get_executor()),
        [&locks, wait_max, code]() -> asio::awaitable<std::string> {
            const auto body = [](const lease&) -> asio::awaitable<void> { co_return; };
            try {
                co_await with_lock(locks, "door", {.wait_max = wait_max}, body);
            } catch (const error& why) {
                EXPECT_EQ(why.code(), code) << why.what();
                co_return why.what();
            }
            co_return "granted";
        },
        asio::use_future
    );
}

TEST(RedisQuarantine, IsToldByWithLockTogetherWithItsEnd) {
    const redis_server server;
    redis_user user(at(server.port(), false), 1s);
    const auto asked = opened(user);
    const auto text = refusal_of(user.client(), 100ms, errc::quarantined).get();
    EXPECT_NE(text.find("lock \"door\""), std::string::npos) << text;
    EXPECT_NE(text.find("grants nothing for another"), std::string::npos) << text;
}

TEST(RedisQuarantine, IsNotToldWhereItIsNotTheReason) {
    const redis_server server;
    redis_user user(at(server.port(), false), 1s);
    const auto asked = opened(user);
    auto refusal = refusal_of(user.client(), 20s, errc::client_stopped);
    EXPECT_FALSE(user.stop());
    const auto text = refusal.get();
    EXPECT_EQ(text.find("grants nothing"), std::string::npos) << text;
}

// Its own session was there: the server cannot be new.
TEST(RedisQuarantine, IsKeptByWhoHasSeenTheStoreWhateverItAssumes) {
    redis_server server;
    proxy_thread proxy(server.port());
    redis_user holder(at(proxy.port(), true), 3s);
    redis_user other(at(server.port(), true), 1s);
    auto held = holder.acquire("door");
    ASSERT_FALSE(held.code);
    ASSERT_FALSE(other.acquire("window").code);
    proxy.run([](redis_proxy& each) {
        each.hold(redis_proxy::way::to_server);
        each.hold(redis_proxy::way::to_client);
    });
    server.kill();
    server.start(redis_server::data::lost);
    auto got = other.acquire("door", 20s);
    ASSERT_FALSE(got.code) << got.code.message() << ": " << other.explain();
    EXPECT_GE(got.at, held.held.valid_until()) << "two held it";
    proxy.run([](redis_proxy& each) {
        each.let_through(redis_proxy::way::to_server);
        each.let_through(redis_proxy::way::to_client);
    });
}

}  // namespace
}  // namespace mortise::test::redis_quarantine_test
