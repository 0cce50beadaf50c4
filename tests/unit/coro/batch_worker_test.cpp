// SPDX-License-Identifier: BSL-1.0
// A worker that takes the whole queue at once: the batches, and the end of contexts in a batch.
#include "mortise/coro/detail/batch_worker.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace mortise::batch_worker_test {
namespace {

using coro::detail::batch_runner;
using coro::detail::batch_worker;
using coro::detail::worker_job;

/// Notes the sizes of batches; each can be held up before it runs, and when all of it has run.
class noting_runner final : public batch_runner {
public:
    void run(std::span<const std::shared_ptr<worker_job>> batch) noexcept override {
        sizes.push_back(batch.size());
        for (const auto& job : batch)
            job->run();
    }
    std::vector<std::size_t> sizes;
};

class BatchWorker : public testing::Test {
protected:
    /// Runs `work`, and tells `done` in that context.
    template <class Work, class Done>
    bool submit(asio::io_context& on, Work work, Done done) {
        using job = coro::detail::awaited_job<Work, void>;
        coro::detail::completion<void(error_code)> completion(
            asio::bind_executor(on.get_executor(), std::move(done)), on.get_executor()
        );
        return worker->submit(std::make_shared<job>(std::move(completion), std::move(work)));
    }

    /// Occupies the thread, so that all that comes meanwhile is one batch.
    void block() {
        submit(
            context,
            [this] {
                entered.set_value();
                leave.get_future().wait();
            },
            [](error_code) {}
        );
        entered.get_future().wait();
    }

    asio::io_context context;
    std::shared_ptr<noting_runner> runner = std::make_shared<noting_runner>();
    std::promise<void> entered;
    std::promise<void> leave;
    std::optional<batch_worker> worker{
        std::in_place, context.get_executor(), coro::worker_config(), 3, runner};
};

TEST_F(BatchWorker, TakesAllThatIsQueuedUpToItsBound) {
    block();
    std::vector<int> order;
    int completions = 0;
    for (int i = 0; i < 5; ++i)
        submit(
            context, [&order, i] { order.push_back(i); }, [&](error_code ec) { completions += !ec; }
        );
    EXPECT_EQ(worker->queued(), 5u);
    leave.set_value();
    context.run();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
    EXPECT_EQ(completions, 5);
    worker->stop();
    worker->wait_stopped();
    EXPECT_EQ(runner->sizes, (std::vector<std::size_t>{1, 3, 2}));
}

TEST_F(BatchWorker, NobodyIsToldBeforeTheWholeBatchHasRun) {
    block();
    std::promise<void> go_on;
    bool completed = false;
    submit(
        context, [] {}, [&](error_code) { completed = true; }
    );
    submit(
        context, [&] { go_on.get_future().wait(); }, [](error_code) {}
    );
    leave.set_value();
    while (worker->queued() > 0)
        std::this_thread::yield();
    context.poll();
    EXPECT_FALSE(completed);
    go_on.set_value();
    context.run();
    EXPECT_TRUE(completed);
}

TEST_F(BatchWorker, AContextThatEndsWaitsForTheBatchAndItsHandlersAreDestroyed) {
    auto other = std::make_unique<asio::io_context>();
    const auto held = std::make_shared<int>(0);
    std::promise<void> running;
    std::promise<void> go_on;
    bool completed = false;
    block();
    submit(
        *other, [] {}, [held](error_code) { ADD_FAILURE() << "its context is gone"; }
    );
    submit(
        context,
        [&] {
            running.set_value();
            go_on.get_future().wait();
        },
        [&](error_code ec) { completed = !ec; }
    );
    submit(
        *other, [] {}, [held](error_code) { ADD_FAILURE() << "its context is gone"; }
    );
    leave.set_value();
    running.get_future().wait();
    auto ended = std::async(std::launch::async, [&] { other.reset(); });
    EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout)
        << "closures that run may refer to what belongs to the context";
    go_on.set_value();
    ended.get();
    EXPECT_EQ(held.use_count(), 1);
    context.run();
    EXPECT_TRUE(completed);
}

TEST_F(BatchWorker, AContextMayEndInAClosureOfTheBatch) {
    auto other = std::make_unique<asio::io_context>();
    int completions = 0;
    block();
    submit(
        *other, [] {}, [](error_code) { ADD_FAILURE() << "its context is gone"; }
    );
    submit(
        context, [&] { other.reset(); }, [&](error_code ec) { completions += !ec; }
    );
    submit(
        context, [] {}, [&](error_code ec) { completions += !ec; }
    );
    leave.set_value();
    context.run();
    EXPECT_EQ(completions, 2);
}

}  // namespace
}  // namespace mortise::batch_worker_test
