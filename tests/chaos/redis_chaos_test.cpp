// SPDX-License-Identifier: BSL-1.0
// Real processes at a Redis server: cases that depend on its TTL. Those of every store and of every
// server, are in store_chaos_test and server_chaos_test.

#include "chaos/actor_process.hpp"
#include "chaos/chaos_test.hpp"
#include "mortise/coro/clock.hpp"
#include "support/amount.hpp"
#include "support/machine_delay.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class RedisChaos : public testing::Test {
protected:
    static constexpr auto ttl = 1'000ms;
    static constexpr double takeover_max_ms = 1'100;

    std::unique_ptr<actor_process> start(std::chrono::milliseconds its_ttl = ttl) {
        const std::string url = "redis://" + server_.address() + "?assume_new=1";
        return std::make_unique<actor_process>(url, folder_.path(), its_ttl);
    }

    /// Waits until this many parties hold the lock or wait for it.
    void queued(int count, const std::string& name = "door") {
        const auto end = clock::now() + 30s;
        while (parties_at(admin_, name) != count) {
            ASSERT_LT(clock::now(), end) << "they do not queue up";
            std::this_thread::sleep_for(1ms);
        }
    }

    void expect_nothing_left() {
        for (const auto& key : admin_.command({"KEYS", "*"}).texts())
            EXPECT_TRUE(is_lasting(key)) << key;
    }

    static void stop(actor_process& each) {
        each.tell("stop");
        EXPECT_TRUE(each.hear("stopped"));
    }

    const scratch_folder folder_;
    redis_server server_;
    raw_redis admin_ = server_.connect();
};

TEST_F(RedisChaos, AKilledHolderIsReplacedAtMost100MillisecondsAfterItsTtl) {
    std::uint64_t last = 0;
    for (int round = 0; round < 3; ++round) {
        const auto holder = start();
        const auto waiter = start();
        const auto token = holder->acquire("door");
        EXPECT_GT(token, last);
        waiter->tell("acquire door");
        queued(2);
        std::this_thread::sleep_for(ttl / 7 * round);
        const machine_delay delay;
        const auto killed = holder->kill();
        const auto line = waiter->hear("held door", 5s);
        ASSERT_TRUE(line);
        const double took = static_cast<double>(time_in(*line) - killed) / 1e6;
        EXPECT_LT(took, takeover_max_ms + delay.so_far().count());
        EXPECT_GT(token_in(*line), token);
        last = token_in(*line);
        stop(*waiter);
        expect_nothing_left();
    }
}

TEST_F(RedisChaos, TheGrantOfAStoppedWaiterPassesOnAfterItsTtl) {
    const auto holder = start();
    const auto next = start();
    const auto last = start();
    holder->acquire("door");
    next->tell("acquire door");
    queued(2);
    last->tell("acquire door");
    queued(3);
    next->send(SIGSTOP);
    const machine_delay delay;
    const auto stopped = clock::now().time_since_epoch().count();
    holder->tell("release door");
    EXPECT_TRUE(holder->hear("released door"));
    const auto line = last->hear("held door", 5s);
    ASSERT_TRUE(line);
    EXPECT_LT(
        static_cast<double>(time_in(*line) - stopped) / 1e6,
        takeover_max_ms + delay.so_far().count()
    );
    // It continues with a new session, behind the other waiter.
    next->send(SIGCONT);
    EXPECT_FALSE(next->hear("held door", 300ms));
    last->tell("release door");
    const auto late = next->hear("held door", 5s);
    ASSERT_TRUE(late);
    EXPECT_GT(token_in(*late), token_in(*line));
    stop(*next);
    stop(*last);
    stop(*holder);
    expect_nothing_left();
}

TEST_F(RedisChaos, ThousandsOfLocksOfAKilledHolderAreAllTakenOverAndNothingIsLeft) {
    const int count = static_cast<int>(amount("MORTISE_MANY_LOCKS", 2'000, 10'000));
    constexpr int at_once = 500;  // more answers would not fit into a pipe
    const auto holder = start(8s);
    for (int from = 0; from < count; from += at_once) {
        for (int i = from; i < from + at_once; ++i)
            holder->tell("acquire n" + std::to_string(i));
        for (int i = from; i < from + at_once; ++i)
            ASSERT_TRUE(holder->hear("held n", 30s)) << i;
    }
    const auto keys = admin_.command({"KEYS", store_key("l:n*")}).items.size();
    EXPECT_EQ(keys, static_cast<std::size_t>(count));
    const auto other = start(30s);
    for (int i = 0; i < count; ++i) {
        other->tell("acquire n" + std::to_string(i));
        if (i % at_once == 0) {
            ASSERT_NO_FATAL_FAILURE(queued(2, "n" + std::to_string(i)));
        }
    }
    ASSERT_NO_FATAL_FAILURE(queued(2, "n" + std::to_string(count - 1)));
    const auto killed = holder->kill();
    std::string line;
    for (int i = 0; i < count; ++i) {
        const auto heard = other->hear("held n", 30s);
        ASSERT_TRUE(heard) << i;
        line = *heard;
    }
    RecordProperty("all_taken_over_ms", std::to_string((time_in(line) - killed) / 1'000'000));
    stop(*other);
    expect_nothing_left();
}

}  // namespace
}  // namespace mortise::test
