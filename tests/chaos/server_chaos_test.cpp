// SPDX-License-Identifier: BSL-1.0
// Real processes at each store that has a server: the server stands still, throws its clients out,
// is restarted.

#include "chaos/chaos_store.hpp"
#include "chaos/chaos_test.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class ServerChaos : public testing::TestWithParam<chaos_store_factory> {
protected:
    /// One actor holds the door, and another one waits for it.
    void line_up(std::chrono::milliseconds ttl) {
        holder = store_->start(ttl);
        waiter = store_->start(ttl);
        first_token = holder->acquire("door");
        waiter->tell("acquire door");
        EXPECT_TRUE(eventually([&] { return store_->parties("door") == 2; }, 30s));
        std::this_thread::sleep_for(100ms);  // For steps that no test can observe.
    }

    std::string state_of(actor_process& each) {
        each.tell("state door");
        return each.hear("state door").value_or("nothing");
    }

    void expect_that_it_still_holds() {
        EXPECT_EQ(state_of(*holder), "state door held");
        holder->tell("release door");
        EXPECT_TRUE(waiter->hear("held door", 10s));
    }

    static void stop(actor_process& each) {
        each.tell("stop");
        EXPECT_TRUE(each.hear("stopped"));
    }
    void end() {
        stop(*waiter);
        stop(*holder);
        EXPECT_TRUE(eventually([&] { return store_->empty(); }));
    }
    // Sessions that have died are removed by the heartbeats of those that live: who stops removes
    // its own.
    void end_with_the_dead() {
        const auto last = store_->start();
        static_cast<void>(last->acquire("window"));
        stop(*waiter);
        stop(*holder);
        EXPECT_TRUE(eventually([&] { return store_->sessions() == 1; }));
        stop(*last);
        EXPECT_TRUE(eventually([&] { return store_->empty(); }));
    }

    const std::unique_ptr<chaos_store> store_ = GetParam()();
    std::unique_ptr<actor_process> holder;
    std::unique_ptr<actor_process> waiter;
    std::uint64_t first_token = 0;
};

TEST_P(ServerChaos, AServerThatStopsForAShortTimeLosesNothing) {
    line_up(store_->ttl());
    store_->suspend();
    std::this_thread::sleep_for(store_->ttl() / 4);
    store_->resume();
    EXPECT_FALSE(waiter->hear("held door", 2 * store_->ttl()));
    expect_that_it_still_holds();
    end();
}

TEST_P(ServerChaos, AServerThatStopsForLongEndsTheLeaseAndServesTheWaiter) {
    line_up(store_->ttl());
    store_->suspend();
    std::this_thread::sleep_for(2 * store_->ttl());
    EXPECT_EQ(state_of(*holder), "state door unsure");
    store_->resume();
    const auto line = waiter->hear("held door", 10s);
    ASSERT_TRUE(line);
    EXPECT_GT(token_in(*line), first_token);
    EXPECT_NE(state_of(*holder), "state door held");
    end_with_the_dead();
}

TEST_P(ServerChaos, ClientsThatAreThrownOutLoseNothing) {
    constexpr auto ttl = 5s;  // time to come back in, on a busy machine too
    line_up(ttl);
    for (int round = 0; round < 3; ++round) {
        store_->end_connections();
        std::this_thread::sleep_for(50ms * round);
    }
    EXPECT_FALSE(waiter->hear("held door", 500ms));
    expect_that_it_still_holds();
    end();
}

class RestartChaos : public ServerChaos {};

TEST_P(RestartChaos, ARestartInOrderLosesNothing) {
    constexpr auto ttl = 10s;  // longer than a restart takes
    line_up(ttl);
    store_->restart();
    EXPECT_FALSE(waiter->hear("held door", 500ms));
    expect_that_it_still_holds();
    EXPECT_EQ(state_of(*waiter), "state door held");
    end();
}

INSTANTIATE_TEST_SUITE_P(Redis, ServerChaos, testing::Values(&make_redis_chaos_store));
#ifdef MORTISE_STORE_AT_POSTGRES
INSTANTIATE_TEST_SUITE_P(Postgres, ServerChaos, testing::Values(&make_postgres_chaos_store));
INSTANTIATE_TEST_SUITE_P(Postgres, RestartChaos, testing::Values(&make_postgres_chaos_store));
#endif
#ifdef MORTISE_STORE_AT_MARIADB
INSTANTIATE_TEST_SUITE_P(Mysql, ServerChaos, testing::Values(&make_mysql_chaos_store));
INSTANTIATE_TEST_SUITE_P(Mysql, RestartChaos, testing::Values(&make_mysql_chaos_store));
#endif
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RestartChaos);

}  // namespace
}  // namespace mortise::test
