// SPDX-License-Identifier: BSL-1.0
// Real processes at each store that processes can share, killed and stopped at critical moments.

#include "chaos/chaos_store.hpp"
#include "chaos/chaos_test.hpp"
#include "mortise/coro/clock.hpp"
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class StoreChaos : public testing::TestWithParam<chaos_store_factory> {
protected:
    std::unique_ptr<actor_process> start() { return store_->start(); }

    /// Three actors: one holds the door, the others wait for it in this order.
    void line_up() {
        holder = start();
        next = start();
        last = start();
        first_token = holder->acquire("door");
        next->tell("acquire door");
        queued(2);
        last->tell("acquire door");
        queued(3);
    }

    /// Two actors: one holds the door, the other one waits for it.
    void line_up_two() {
        holder = start();
        last = start();
        first_token = holder->acquire("door");
        last->tell("acquire door");
        queued(2);
    }

    /// Expects the door to be with the last one within the time that the store promises, counted
    /// from `since`.
    void expect_take_over(std::int64_t since, const machine_delay& delay) {
        const auto line = last->hear("held door", 10s);
        ASSERT_TRUE(line);
        const double limit = static_cast<double>(store_->takeover_max().count());
        EXPECT_LT(
            static_cast<double>(time_in(*line) - since) / 1e6, limit + delay.so_far().count()
        );
        EXPECT_GT(token_in(*line), first_token);
    }

    /// Waits until this many parties hold the door or wait for it, and have finished what follows.
    void queued(std::int64_t count) {
        EXPECT_TRUE(eventually([&] { return store_->parties("door") == count; }, 30s))
            << "they do not queue up: " << store_->parties("door");
        std::this_thread::sleep_for(100ms);  // For steps that no test can observe.
    }

    /// Stops these actors when the dead are reaped, and expects that nothing is left of anybody.
    void end(std::initializer_list<actor_process*> living) {
        const auto count = static_cast<std::int64_t>(living.size());
        EXPECT_TRUE(eventually([&] { return store_->sessions() <= count; }, 10s));
        for (actor_process* const each : living) {
            each->tell("stop");
            EXPECT_TRUE(each->hear("stopped"));
        }
        EXPECT_TRUE(eventually([&] { return store_->empty(); }));
    }

    const std::unique_ptr<chaos_store> store_ = GetParam()();
    std::unique_ptr<actor_process> holder;
    std::unique_ptr<actor_process> next;
    std::unique_ptr<actor_process> last;
    std::uint64_t first_token = 0;
};

TEST_P(StoreChaos, HolderAndNextWaiterDieTogether) {
    line_up();
    next->send(SIGKILL);
    const machine_delay delay;
    const auto killed = holder->kill();
    expect_take_over(killed, delay);
    end({last.get()});
}

TEST_P(StoreChaos, AWaiterThatIsKilledWhileThereAreOthersHoldsNobodyUp) {
    line_up();
    const machine_delay delay;
    const auto killed = next->kill();
    holder->tell("release door");
    EXPECT_TRUE(holder->hear("released door"));
    expect_take_over(killed, delay);
    end({last.get(), holder.get()});
}

TEST_P(StoreChaos, AStoppedHolderIsReplacedAfterItsTtlAndItsLateWriteIsRefused) {
    line_up_two();
    holder->tell("raise door");
    EXPECT_TRUE(holder->hear("raised door"));
    holder->tell("write door mine");
    EXPECT_TRUE(holder->hear("wrote door"));
    holder->send(SIGSTOP);
    EXPECT_FALSE(last->hear("held door", store_->ttl() / 10)) << "it may still resume";
    const auto line = last->hear("held door", 10s);
    ASSERT_TRUE(line);
    EXPECT_GT(token_in(*line), first_token);
    last->tell("raise door");
    EXPECT_TRUE(last->hear("raised door"));
    // When it resumes it writes at once: the fence refuses it.
    holder->tell("write door late");
    holder->tell("state door");
    holder->send(SIGCONT);
    EXPECT_TRUE(holder->hear("refused door"));
    const auto state = holder->hear("state door");
    ASSERT_TRUE(state);
    EXPECT_NE(words_of(*state).at(2), "held");
    EXPECT_EQ(content_at(store_->folder(), "door"), "mine");
    last->tell("write door yours");
    EXPECT_TRUE(last->hear("wrote door"));
    EXPECT_EQ(content_at(store_->folder(), "door"), "yours");
    end({last.get(), holder.get()});
}

TEST_P(StoreChaos, AShortStopOfTheHolderLosesNothing) {
    line_up_two();
    holder->send(SIGSTOP);
    std::this_thread::sleep_for(store_->ttl() / 4);
    holder->send(SIGCONT);
    EXPECT_FALSE(last->hear("held door", store_->ttl() * 5 / 4));
    holder->tell("state door");
    EXPECT_EQ(holder->hear("state door"), "state door held");
    holder->tell("release door");
    EXPECT_TRUE(last->hear("held door", 2s));
    end({last.get(), holder.get()});
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreChaos, testing::Values(&make_sqlite_chaos_store));
INSTANTIATE_TEST_SUITE_P(Redis, StoreChaos, testing::Values(&make_redis_chaos_store));
#ifdef MORTISE_STORE_AT_POSTGRES
INSTANTIATE_TEST_SUITE_P(Postgres, StoreChaos, testing::Values(&make_postgres_chaos_store));
#endif
#ifdef MORTISE_STORE_AT_MARIADB
INSTANTIATE_TEST_SUITE_P(Mysql, StoreChaos, testing::Values(&make_mysql_chaos_store));
#endif

}  // namespace
}  // namespace mortise::test
