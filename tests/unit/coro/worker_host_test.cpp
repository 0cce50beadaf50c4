// SPDX-License-Identifier: BSL-1.0
// Workers without threads: their context's host runs what they have to do, turn by turn.
#include "mortise/coro/detail/worker_host.hpp"
#include "mortise/coro/worker.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace mortise::worker_host_test {
namespace {

class WorkerHost : public testing::Test {
protected:
    WorkerHost() {
        coro::detail::worker_host::install(context.value(), [this](std::function<void()> turn) {
            turns.push_back(std::move(turn));
        });
    }

    bool take_turn() {
        if (turns.empty())
            return false;
        const auto turn = std::move(turns.front());
        turns.pop_front();
        turn();
        return true;
    }

    std::deque<std::function<void()>> turns;
    std::optional<asio::io_context> context{std::in_place};
};

TEST_F(WorkerHost, RunsInOneTurnAndTellsInTheNext) {
    coro::worker worker(context->get_executor());
    std::optional<std::thread::id> ran;
    std::optional<int> answer;
    worker.async_run(
        [&] {
            ran = std::this_thread::get_id();
            return 7;
        },
        [&](error_code failed, int value) { answer = failed ? -1 : value; }
    );
    EXPECT_FALSE(ran) << "not from inside";
    ASSERT_TRUE(take_turn());
    EXPECT_EQ(ran, std::this_thread::get_id());
    context->poll();
    EXPECT_FALSE(answer) << "nobody knows yet";
    ASSERT_TRUE(take_turn());
    context->poll();
    EXPECT_EQ(answer, 7);
    EXPECT_TRUE(turns.empty());
}

TEST_F(WorkerHost, TakesWhatCameMeanwhileAfterwards) {
    coro::worker worker(context->get_executor());
    std::string order;
    worker.post([&] { order += 'a'; });
    ASSERT_TRUE(take_turn());
    worker.post([&] { order += 'b'; });
    worker.post([&] { order += 'c'; });
    EXPECT_EQ(turns.size(), 1u) << "there is one turn at a time";
    while (take_turn()) {
    }
    EXPECT_EQ(order, "abc");
}

TEST_F(WorkerHost, StopsWithItsQueueAndWaitsForNobody) {
    std::optional<coro::worker> worker(std::in_place, context->get_executor());
    bool ran = false;
    std::optional<error_code> answer;
    worker->async_run([&] { ran = true; }, [&](error_code failed) { answer = failed; });
    worker->stop();
    worker.reset();
    context->poll();
    EXPECT_EQ(answer, asio::error::operation_aborted);
    while (take_turn()) {
    }
    EXPECT_FALSE(ran);
}

TEST_F(WorkerHost, AContextMayEndBetweenTheWorkAndItsAnswer) {
    std::optional<coro::worker> worker(std::in_place, context->get_executor());
    const auto kept = std::make_shared<int>(0);
    bool ran = false;
    bool completed = false;
    worker->async_run([&] { ran = true; }, [&completed, kept](error_code) { completed = true; });
    ASSERT_TRUE(take_turn());
    context.reset();
    EXPECT_EQ(kept.use_count(), 1) << "the handler is destroyed with its context";
    while (take_turn()) {
    }
    EXPECT_TRUE(ran);
    EXPECT_FALSE(completed);
}

}  // namespace
}  // namespace mortise::worker_host_test
