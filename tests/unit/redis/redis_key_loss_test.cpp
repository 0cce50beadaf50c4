// SPDX-License-Identifier: BSL-1.0
// What is lost in the single-key form, and who learns of it when.
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"
#include "support/proxy_thread.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"
#include "unit/redis/bare_redis_store.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::test::redis_key_loss_test {
namespace {

using namespace std::chrono_literals;

constexpr auto ttl = 600ms;

redis_store_config config_at(const redis_server& server, std::string prefix = {}) {
    redis_store_config config;
    config.server.port = server.port();
    config.form = redis_form::single_key;
    config.prefix = std::move(prefix);
    return config;
}

TEST(RedisKeyLoss, AHolderThatStopsIsReplacedWithinATtlAndAHundredMilliseconds) {
    const redis_server server;
    redis_user waiter(config_at(server), ttl);
    asio::io_context context;
    client_config how;
    how.ttl = ttl;
    lock_client stopped(context.get_executor(), make_redis_store(config_at(server)), how);
    lease held;
    stopped.async_acquire("resource", lock_options(), [&](error_code code, lease got) {
        EXPECT_FALSE(code) << code.message();
        held = std::move(got);
    });
    const auto end = clock::now() + 10s;
    while (!held && clock::now() < end)
        context.run_one_for(10ms);
    ASSERT_TRUE(held);
    auto asked = waiter.ask("resource");
    const auto alive_until = clock::now() + 2 * ttl;
    while (clock::now() < alive_until)
        context.run_one_for(10ms);
    EXPECT_EQ(asked.wait_for(0s), std::future_status::timeout) << "heartbeats keep it";
    const machine_delay delay;
    const auto last_alive = clock::now();  // From now on its context no longer runs.
    auto got = outcome_of(asked);
    ASSERT_FALSE(got.code) << got.code.message();
    EXPECT_LE(got.at - last_alive, ttl + 100ms + delay.so_far());
    EXPECT_GE(got.at, held.valid_until()) << "two held it";
    EXPECT_FALSE(held.held());
    EXPECT_FALSE(waiter.release(got.held));
}

TEST(RedisKeyLoss, AKeyThatIsGoneIsFoundByTheNextHeartbeatAndTheOthersStay) {
    auto& server = shared_redis();
    redis_user user(config_at(server, "key-loss:"), ttl);
    auto gone = user.acquire("gone");
    auto stays = user.acquire("stays");
    ASSERT_TRUE(gone.held.held() && stays.held.held());
    server.connect().command({"DEL", "key-loss:gone"});
    const machine_delay delay;
    const auto deleted = clock::now();
    ASSERT_TRUE(eventually([&] { return gone.held.state() == lease_state::lost; }));
    EXPECT_LT(clock::now() - deleted, ttl / 3 + 100ms + delay.so_far());
    EXPECT_EQ(gone.held.check(), errc::lease_lost);
    EXPECT_TRUE(stays.held.held());
    EXPECT_FALSE(user.release(stays.held));
}

TEST(RedisKeyLoss, AKeyThatIsAnothersIsNeitherRenewedNorFreed) {
    auto& server = shared_redis();
    auto admin = server.connect();
    redis_user user(config_at(server, "key-steal:"), ttl);
    auto ours = user.acquire("door");
    admin.command({"SET", "key-steal:door", "stolen", "PX", "60000"});
    ASSERT_TRUE(eventually([&] { return ours.held.state() == lease_state::lost; }));
    EXPECT_FALSE(user.stop());
    EXPECT_EQ(admin.command({"GET", "key-steal:door"}).text, "stolen");
    EXPECT_GT(admin.command({"PTTL", "key-steal:door"}).number, 10'000);
    admin.command({"DEL", "key-steal:door"});
}

TEST(RedisKeyLoss, AFlushIsHeardAtOnceAndTheLockIsLost) {
    const redis_server server;
    redis_user user(config_at(server), 30s);
    auto ours = user.acquire("door");
    ASSERT_FALSE(ours.code);
    server.connect().command({"FLUSHALL"});
    EXPECT_TRUE(eventually([&] { return ours.held.state() == lease_state::lost; }))
        << "long before a heartbeat of its own";
    EXPECT_FALSE(user.acquire("door").code);
}

TEST(RedisKeyLoss, AServerThatForgotAllIsNoticedWhenItIsThereAgain) {
    redis_server server;
    redis_user holder(config_at(server), 30s);
    redis_user waiter(config_at(server), 30s);
    auto ours = holder.acquire("door");
    ASSERT_FALSE(ours.code);
    auto asked = waiter.ask("door");
    auto admin = server.connect();
    ASSERT_TRUE(eventually([&] { return !admin.command({"PUBSUB", "CHANNELS"}).items.empty(); }));
    server.kill();
    server.start(redis_server::data::lost);
    auto got = outcome_of(asked);
    ASSERT_FALSE(got.code) << got.code.message();
    EXPECT_TRUE(eventually([&] { return ours.held.state() == lease_state::lost; }));
    EXPECT_FALSE(waiter.release(got.held));
}

TEST(RedisKeyLoss, ALostConnectionAloneTakesNoLease) {
    const redis_server server;
    redis_user user(config_at(server), ttl);
    auto ours = user.acquire("door");
    ASSERT_FALSE(ours.code);
    auto admin = server.connect();
    const auto before = user.client().stats().lost;
    admin.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    const auto heartbeats = user.client().stats().heartbeats;
    EXPECT_TRUE(eventually([&] { return user.client().stats().heartbeats > heartbeats + 2; }));
    EXPECT_TRUE(ours.held.held());
    EXPECT_EQ(user.client().stats().lost, before);
    EXPECT_FALSE(user.release(ours.held));
}

TEST(RedisKeyLoss, AThousandLocksAreRenewedByAFewCommands) {
    const redis_server server;
    redis_user user(config_at(server), 4 * ttl);  // A busy machine is late.
    std::vector<lease> held;
    for (int i = 0; i < 1'000; ++i)
        held.push_back(user.acquire("name-" + std::to_string(i)).held);
    auto admin = server.connect();
    admin.command({"CONFIG", "RESETSTAT"});
    const auto beats = user.client().stats().heartbeats;
    EXPECT_TRUE(eventually([&] { return user.client().stats().heartbeats >= beats + 4; }));
    EXPECT_LE(admin.calls("evalsha"), 4 * 5u + 4u);
    EXPECT_EQ(admin.command({"DBSIZE"}).number, 1'000);
    for (const lease& each : held)
        EXPECT_TRUE(each.held());
    EXPECT_FALSE(user.stop());
    EXPECT_EQ(admin.command({"DBSIZE"}).number, 0);
}

TEST(RedisKeyLoss, ASessionThatBeginsAnewHearsNothingOfWhatTheOneBeforeWaitedFor) {
    const redis_server server;
    auto admin = server.connect();
    const auto channels = [&] { return admin.command({"PUBSUB", "CHANNELS"}).items.size(); };
    admin.command({"SET", "door", "theirs", "PX", "60000"});
    bare_redis_store asked(config_at(server));
    session_start session;
    session.id = random_id::draw();
    session.generation = 1;
    session.ttl = ttl;
    ASSERT_TRUE(asked.outcome((*asked).resume(session)));
    lock_request wish;
    wish.id = 1;
    wish.name = "door";
    ASSERT_TRUE(asked.outcome((*asked).request(wish)));
    ASSERT_TRUE(eventually([&] { return channels() == 1; }));
    session.id = random_id::draw();
    ASSERT_TRUE(asked.outcome((*asked).resume(session)));
    wish.name = "window";
    admin.command({"SET", "window", "theirs", "PX", "60000"});
    ASSERT_TRUE(asked.outcome((*asked).request(wish)));
    EXPECT_TRUE(eventually([&] {
        return admin.command({"PUBSUB", "NUMSUB", "mortise:released:window"}).items.at(1).number ==
               1;
    }));
    EXPECT_EQ(channels(), 1u) << "a holder of \"door\" would believe that it is waited for";
}

/// A store whose command or answer is lost once, with the connection.
class RedisKeyLossAtEnd : public testing::Test {
protected:
    RedisKeyLossAtEnd() : proxy_(server_.port()) {
        redis_store_config config;
        config.server.port = proxy_.port();
        config.form = redis_form::single_key;
        asked_.emplace(config);
        session_start session;
        session.id = random_id::draw();
        session.generation = 1;
        session.ttl = 60s;
        EXPECT_TRUE(asked_->outcome((**asked_).resume(session)));
        wish_.id = 1;
        wish_.name = "door";
    }

    result<answer> request() { return asked_->outcome((**asked_).request(wish_)); }
    error_code withdraw() { return asked_->outcome((**asked_).withdraw(wish_.name, wish_.id)); }
    void order(proxy_deed::kind deed) {
        proxy_.run([=](redis_proxy& at) {
            at.at(redis_proxy::kind::command, 1, proxy_deed::of(deed));
        });
    }
    bool beats() { return asked_->outcome((**asked_).beat(0)).has_value(); }
    void let_run_scripts(bool may) {
        const std::string sign = may ? "+" : "-";
        server_.connect().command({"ACL", "SETUSER", "default", sign + "eval", sign + "evalsha"});
    }
    bool key_exists() { return server_.connect().command({"EXISTS", "door"}).number == 1; }
    bool ends() {
        return eventually([&] { return !asked_->outcome((**asked_).end()); });
    }

private:
    const redis_server server_;
    proxy_thread proxy_;
    std::optional<bare_redis_store> asked_;
    lock_request wish_;
};

TEST_F(RedisKeyLossAtEnd, ARequestWhoseAnswerIsLostIsFreed) {
    order(proxy_deed::kind::cut_answer);
    ASSERT_EQ(request().error(), errc::outcome_unknown);
    ASSERT_TRUE(key_exists());
    ASSERT_TRUE(ends());
    EXPECT_FALSE(key_exists());
}

TEST_F(RedisKeyLossAtEnd, ARequestThatIsRepeatedIsGrantedAndFreed) {
    order(proxy_deed::kind::cut_answer);
    ASSERT_EQ(request().error(), errc::outcome_unknown);
    result<answer> reply = error_code(errc::store_unavailable);
    ASSERT_TRUE(eventually([&] {
        reply = request();
        return reply.has_value();
    }));
    EXPECT_EQ(reply->type, answer::kind::granted);
    ASSERT_TRUE(ends());
    EXPECT_FALSE(key_exists());
}

TEST_F(RedisKeyLossAtEnd, ARequestThatIsRefusedWhenItIsRepeatedIsFreed) {
    order(proxy_deed::kind::cut_answer);
    ASSERT_EQ(request().error(), errc::outcome_unknown);
    ASSERT_TRUE(eventually([&] { return beats(); }));
    let_run_scripts(false);
    ASSERT_EQ(request().error(), errc::access_denied);
    let_run_scripts(true);
    ASSERT_TRUE(key_exists());
    ASSERT_TRUE(ends());
    EXPECT_FALSE(key_exists());
}

TEST_F(RedisKeyLossAtEnd, AWithdrawalThatIsLostIsMadeUpFor) {
    ASSERT_TRUE(request());
    order(proxy_deed::kind::cut);
    ASSERT_TRUE(withdraw());
    ASSERT_TRUE(key_exists());
    ASSERT_TRUE(ends());
    EXPECT_FALSE(key_exists());
}

}  // namespace
}  // namespace mortise::test::redis_key_loss_test
