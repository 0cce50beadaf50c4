// SPDX-License-Identifier: BSL-1.0
// What waits in coro/, cancelled before each of its handlers; mutex and event are swept with their
// other tests.
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/coro/worker.hpp"
#include "support/cancel_sweep.hpp"
#include "support/print.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>

namespace mortise::test::coro_sweep_test {
namespace {

using namespace std::chrono_literals;

class CoroSweep : public testing::TestWithParam<asio::cancellation_type> {};

INSTANTIATE_TEST_SUITE_P(Types, CoroSweep, testing::ValuesIn(cancellation_types), param_name());

void expect_success_or_abort(error_code code) {
    EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
}

class waiting final : public sweep_case {
public:
    explicit waiting(co_world& world) : world_(world) {}
    asio::awaitable<void> operation() override {
        co_await world_.time.async_wait_until(begin_ + 1s);
        co_await world_.time.async_wait_until(begin_);  // is over
        co_await world_.time.async_wait_until(begin_ + 2s);
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome.code());
        EXPECT_FALSE(world_.time.next_deadline()) << "nobody waits any more";
        EXPECT_EQ(world_.time.now() == begin_ + 2s, !outcome.code());
    }

private:
    co_world& world_;
    const clock::time_point begin_ = world_.time.now();
};

TEST_P(CoroSweep, AWaitForAMomentLeavesNoTimer) {
    const auto steps = cancel_sweep("time_source::async_wait_until", GetParam(), [](co_world& at) {
        return std::make_unique<waiting>(at);
    });
    EXPECT_GE(steps, 4u);
}

class sleeping final : public sweep_case {
public:
    explicit sleeping(co_world& world) : world_(world) {}
    asio::awaitable<void> operation() override {
        co_await coro::sleep_for(world_.time, 1s);
        co_await coro::sleep_for(world_.time, 0s);
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome.code());
        EXPECT_FALSE(world_.time.next_deadline());
    }

private:
    co_world& world_;
};

TEST_P(CoroSweep, ASleepLeavesNoTimer) {
    const auto steps = cancel_sweep("sleep_for", GetParam(), [](co_world& at) {
        return std::make_unique<sleeping>(at);
    });
    EXPECT_GE(steps, 3u);
}

class joining final : public sweep_case {
public:
    explicit joining(co_world& world) : world_(world), scope_(world.executor()) {}
    asio::awaitable<void> operation() override {
        called_ = true;
        for (int i = 1; i <= 3; ++i)
            scope_.spawn(task(i * 1s));
        co_await scope_.join();
        joined_ = true;
        EXPECT_EQ(scope_.size(), 0u);
    }
    void check(const co_world::outcome& outcome) override {
        if (!called_)
            return;  // the coroutine was cancelled before it came so far
        EXPECT_FALSE(outcome.failure) << "the join ends as if it had not been cancelled";
        EXPECT_TRUE(joined_);
        EXPECT_EQ(ended_, begun_);
        EXPECT_FALSE(world_.time.next_deadline());
    }

private:
    class visit {
    public:
        visit(int& begun, int& ended) : ended_(ended) { ++begun; }
        ~visit() { ++ended_; }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;

    private:
        int& ended_;
    };

    asio::awaitable<void> task(clock::duration span) {
        const visit here(begun_, ended_);
        co_await coro::sleep_for(world_.time, span);
    }

    co_world& world_;
    coro::task_scope scope_;
    int begun_ = 0;
    int ended_ = 0;
    bool called_ = false;
    bool joined_ = false;
};

TEST_P(CoroSweep, AJoinWaitsForTheEndOfEveryTask) {
    const auto steps = cancel_sweep("task_scope::join", GetParam(), [](co_world& at) {
        return std::make_unique<joining>(at);
    });
    EXPECT_GE(steps, 6u);
}

/// A context whose handlers come from a worker's thread, too.
class worker_world {
public:
    worker_world() = default;
    void step_while(const std::function<bool()>& wanted) {
        context.restart();
        while (wanted())
            context.run_one_for(10ms);
    }
    void settle() {
        context.restart();
        context.run_for(20s);
    }

    asio::io_context context;
};

/// The thread is kept by a closure for some handlers; then it runs the one that is swept.
class working final : public sweep_case {
public:
    explicit working(worker_world& world) : worker_(world.context.get_executor()) {
        std::promise<void> entered;
        worker_.post([&entered, gate = gate_] {
            entered.set_value();
            gate->get_future().wait();
        });
        entered.get_future().wait();
        asio::co_spawn(world.context, open_later(gate_), [](std::exception_ptr failure) {
            EXPECT_FALSE(failure);
        });
    }
    asio::awaitable<void> operation() override {
        auto work = [this] { return ++runs_; };
        EXPECT_EQ(co_await worker_.async_run(work), 1);
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome.code());
        EXPECT_EQ(runs_, outcome.code() ? 0 : 1);
        EXPECT_EQ(worker_.queued(), 0u);
    }

private:
    using promise = std::promise<void>;

    static asio::awaitable<void> open_later(std::shared_ptr<promise> gate) {
        for (int i = 0; i < 5; ++i)
            co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
        gate->set_value();
    }

    const std::shared_ptr<promise> gate_ = std::make_shared<promise>();
    int runs_ = 0;
    coro::worker worker_;  // its closures refer to the rest
};

TEST_P(CoroSweep, AClosureThatWasCancelledDidNotRun) {
    const auto steps =
        cancel_sweep<worker_world>("worker::async_run", GetParam(), [](worker_world& at) {
            return std::make_unique<working>(at);
        });
    EXPECT_GE(steps, 4u);
}

}  // namespace
}  // namespace mortise::test::coro_sweep_test
