// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/clock.hpp"
#include "mortise/coro/worker.hpp"
#include "support/print.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::worker_test {

using namespace std::chrono_literals;
using coro::worker;
using coro::worker_config;

/// Holds the thread of a worker until it is let go.
class blocker {
public:
    explicit blocker(worker& on) {
        const auto entered = std::make_shared<std::promise<void>>();
        on.post([entered, leave = leave_.get_future().share()] {
            entered->set_value();
            leave.wait();
        });
        entered->get_future().wait();
    }
    ~blocker() { release(); }
    void release() {
        if (!std::exchange(released_, true))
            leave_.set_value();
    }

private:
    std::promise<void> leave_;
    bool released_ = false;
};

worker_config with_queue(std::size_t queue_max) {
    worker_config config;
    config.queue_max = queue_max;
    return config;
}

TEST(Worker, RunsWorkOnItsThreadAndReturnsWhatItReturned) {
    asio::io_context context;
    worker w(context.get_executor());
    std::thread::id where;
    int result = 0;
    bool here = false;
    w.async_run(
        [&] {
            where = std::this_thread::get_id();
            return 42;
        },
        [&, caller = std::this_thread::get_id()](error_code ec, int value) {
            EXPECT_FALSE(ec);
            result = value;
            here = std::this_thread::get_id() == caller;
        }
    );
    context.run();  // it returns only when the work has ended: a wait counts as work
    EXPECT_EQ(result, 42);
    EXPECT_TRUE(here);
    EXPECT_NE(where, std::thread::id());
    EXPECT_NE(where, std::this_thread::get_id());
}

TEST(Worker, IsAwaitedWithMoveOnlyWorkAndResult) {
    asio::io_context context;
    worker w(context.get_executor());
    int result = 0;
    const auto body = [&]() -> asio::awaitable<void> {
        auto work = [p = std::make_unique<int>(6)] { return std::make_unique<int>(*p * 7); };
        const auto got = co_await w.async_run(std::move(work));
        result = *got;
        co_await w.async_run([] {});
    };
    asio::co_spawn(context, body(), asio::detached);
    context.run();
    EXPECT_EQ(result, 42);
}

TEST(Worker, HasANameAndNoSignals) {
    asio::io_context context;
    worker_config config;
    config.name = "a-name-that-is-too-long";
    worker w(context.get_executor(), config);
    std::string name;
    bool blocked = false;
    w.async_run(
        [&] {
            char text[16] = {};
            ::pthread_getname_np(::pthread_self(), text, sizeof text);
            name = text;
            sigset_t mask;
            ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
            blocked = ::sigismember(&mask, SIGTERM) == 1 && ::sigismember(&mask, SIGUSR1) == 1;
        },
        asio::detached
    );
    context.run();
    EXPECT_EQ(name, "a-name-that-is-");
    EXPECT_TRUE(blocked);
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_EQ(::sigismember(&mask, SIGTERM), 0) << "the creator's mask was not restored";
}

TEST(Worker, RunsInTheOrderOfSubmission) {
    asio::io_context context;
    worker w(context.get_executor());
    blocker block(w);
    std::vector<int> order;
    for (int i = 0; i < 10; i += 2) {
        w.async_run([&order, i] { order.push_back(i); }, asio::detached);
        EXPECT_TRUE(w.post([&order, i] { order.push_back(i + 1); }));
    }
    w.async_run([] {}, asio::detached);
    block.release();
    context.run();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Worker, ThatStaysAwakeRunsWhatComesAndStopsAtOnce) {
    asio::io_context context;
    worker_config config;
    config.busy_poll_max = 1h;
    config.grace = 1h;
    worker w(context.get_executor(), config);
    int sum = 0;
    for (int i = 1; i <= 4; ++i) {
        w.async_run([i] { return i; }, [&](error_code, int value) { sum += value; });
        context.run();
        context.restart();
    }
    EXPECT_EQ(sum, 10);
}

TEST(Worker, RunsWhatComesAfterItFellAsleep) {
    asio::io_context context;
    worker_config config;
    config.busy_poll_max = 1us;
    worker w(context.get_executor(), config);
    int sum = 0;
    for (int i = 1; i <= 4; ++i) {
        ::poll(nullptr, 0, 2);
        w.async_run([i] { return i; }, [&](error_code, int value) { sum += value; });
        context.run();
        context.restart();
    }
    EXPECT_EQ(sum, 10);
}

TEST(Worker, RefusesMoreThanItsQueueHolds) {
    asio::io_context context;
    worker w(context.get_executor(), with_queue(2));
    blocker block(w);
    int ran = 0;
    error_code refused;
    w.async_run([&] { ++ran; }, asio::detached);
    EXPECT_TRUE(w.post([&] { ++ran; }));
    EXPECT_EQ(w.queued(), 2U);
    EXPECT_FALSE(w.post([&] { ++ran; }));
    w.async_run([&] { ++ran; }, [&](error_code ec) { refused = ec; });
    EXPECT_FALSE(refused) << "completed inline";
    context.poll();
    EXPECT_EQ(refused, coro::errc::queue_full);
    block.release();
    const auto last = std::make_shared<std::promise<void>>();
    while (!w.post([last] { last->set_value(); }))
        std::this_thread::yield();
    last->get_future().wait();
    context.run();
    EXPECT_EQ(ran, 2);
}

TEST(Worker, TurnsEscapingExceptionsIntoCodes) {
    asio::io_context context;
    worker w(context.get_executor());
    std::vector<error_code> codes;
    const auto note = [&](error_code ec, int value) {
        codes.push_back(ec);
        EXPECT_EQ(value, 0);
    };
    w.async_run(
        []() -> int { throw boost::system::system_error(asio::error::access_denied); }, note
    );
    w.async_run(
        []() -> int { throw std::system_error(std::make_error_code(std::errc::io_error)); }, note
    );
    w.async_run([]() -> int { throw std::bad_alloc(); }, note);
    w.async_run([]() -> int { throw std::runtime_error("lost"); }, note);
    w.async_run([]() -> int { throw 7; }, note);
    context.run();
    ASSERT_EQ(codes.size(), 5U);
    EXPECT_EQ(codes[0], asio::error::access_denied);
    EXPECT_EQ(codes[1], std::errc::io_error);
    EXPECT_EQ(codes[2], boost::system::errc::not_enough_memory);
    EXPECT_EQ(codes[3], coro::errc::work_threw);
    EXPECT_EQ(codes[4], coro::errc::work_threw);
    EXPECT_STREQ(codes[3].category().name(), "mortise.coro");
    EXPECT_NE(codes[3].message(), make_error_code(coro::errc::queue_full).message());
}

TEST(Worker, DestroysTheWorkBeforeItCompletes) {
    asio::io_context context;
    worker w(context.get_executor());
    const auto held = std::make_shared<int>(1);
    long users = 0;
    w.async_run([held] { return *held; }, [&](error_code, int) { users = held.use_count(); });
    context.run();
    EXPECT_EQ(users, 1);
}

TEST(Worker, StopDropsTheQueueAndLetsTheRunningWorkEnd) {
    asio::io_context context;
    worker w(context.get_executor());
    std::promise<void> entered;
    std::promise<void> leave;
    int running = 0;
    w.async_run(
        [&] {
            entered.set_value();
            leave.get_future().wait();
            return 5;
        },
        [&](error_code ec, int value) { running = ec ? -1 : value; }
    );
    entered.get_future().wait();
    bool ran = false;
    error_code queued;
    error_code late;
    w.async_run([&] { ran = true; }, [&](error_code ec) { queued = ec; });
    w.post([&] { ran = true; });
    w.stop();
    w.async_run([&] { ran = true; }, [&](error_code ec) { late = ec; });
    EXPECT_FALSE(w.post([&] { ran = true; }));
    EXPECT_EQ(w.queued(), 0U);
    context.poll();
    EXPECT_EQ(queued, asio::error::operation_aborted);
    EXPECT_EQ(late, asio::error::operation_aborted);
    leave.set_value();
    context.run();
    EXPECT_EQ(running, 5);
    EXPECT_FALSE(ran);
}

TEST(Worker, MayBeDestroyedByItsOwnWork) {
    asio::io_context context;
    const auto done = std::make_shared<std::promise<void>>();
    auto own = std::make_shared<worker>(context.get_executor());
    worker& w = *own;
    w.post([keep = std::exchange(own, nullptr), done]() mutable {
        keep.reset();
        done->set_value();
    });
    EXPECT_EQ(done->get_future().wait_for(10s), std::future_status::ready)
        << "the thread waits for itself";
}

// The parent's work does not run in the child, so the child must not wait for its end.
TEST(Worker, AForkedChildWaitsForNoWork) {
    std::promise<void> entered;
    std::promise<void> leave;
    auto context = std::make_unique<asio::io_context>();
    worker_config patient;
    patient.grace = 60s;
    auto w = std::make_unique<worker>(context->get_executor(), patient);
    int ended = 0;
    const auto count = [&](error_code) { ++ended; };
    const auto wait = [&] {
        entered.set_value();
        leave.get_future().wait();
    };
    w->async_run(wait, count);
    w->async_run([] {}, count);
    entered.get_future().wait();
    context->notify_fork(asio::io_context::fork_prepare);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        context->notify_fork(asio::io_context::fork_child);
        context.reset();
        w.reset();
        ::_exit(0);
    }
    context->notify_fork(asio::io_context::fork_parent);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    leave.set_value();
    context->run();
    EXPECT_EQ(ended, 2) << "the parent is what it was";
}

class WorkerCancellation : public testing::TestWithParam<asio::cancellation_type> {};

TEST_P(WorkerCancellation, RemovesQueuedWork) {
    asio::io_context context;
    worker w(context.get_executor());
    blocker block(w);
    asio::cancellation_signal signal;
    const auto held = std::make_shared<int>(1);
    bool ran = false;
    error_code result;
    w.async_run(
        [&ran, held] { ran = true; },
        asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { result = ec; })
    );
    EXPECT_EQ(w.queued(), 1U);
    signal.emit(GetParam());
    EXPECT_EQ(w.queued(), 0U);
    EXPECT_EQ(held.use_count(), 1) << "the work was not destroyed";
    EXPECT_FALSE(result) << "completed inside emit()";
    context.run();
    EXPECT_EQ(result, asio::error::operation_aborted);
    block.release();
    EXPECT_FALSE(ran);
}

TEST_P(WorkerCancellation, DoesNotTouchRunningWork) {
    asio::io_context context;
    worker w(context.get_executor());
    asio::cancellation_signal signal;
    std::promise<void> entered;
    std::promise<void> leave;
    int result = 0;
    w.async_run(
        [&] {
            entered.set_value();
            leave.get_future().wait();
            return 9;
        },
        asio::bind_cancellation_slot(
            signal.slot(), [&](error_code ec, int value) { result = ec ? -1 : value; }
        )
    );
    entered.get_future().wait();
    signal.emit(GetParam());
    leave.set_value();
    context.run();
    EXPECT_EQ(result, 9);
}

INSTANTIATE_TEST_SUITE_P(
    Types, WorkerCancellation, testing::ValuesIn(test::cancellation_types), test::param_name()
);

}  // namespace mortise::worker_test
