// SPDX-License-Identifier: BSL-1.0
// Destroying an io_context while coroutines wait: every frame is destroyed, nothing is leaked (the
// leak sanitizer looks as well) and nothing is touched afterwards.
#include "mortise/coro/detail/wait_service.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/mutex.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "mortise/coro/worker.hpp"
#include "support/print.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

namespace mortise::context_end_test {

using namespace std::chrono_literals;
using asio::any_io_executor;
using asio::awaitable;

/// Blocks the thread for a while.
void block(std::chrono::milliseconds span) {
    std::promise<void>().get_future().wait_for(span);
}

/// Held by a frame that waits; lives as long as the frame.
using witness = std::shared_ptr<int>;

// The primitive lives in the frame that waits on it: a circle that only the context can break.

awaitable<void> own_event(any_io_executor ex, witness) {
    coro::event e(ex);
    co_await e.async_wait();
}

awaitable<void> own_mutex(any_io_executor ex, witness) {
    coro::mutex m(ex);
    const auto held = co_await m.async_lock();
    const auto never = co_await m.async_lock();
}

awaitable<void> own_boot_time(any_io_executor ex, witness) {
    const auto time = coro::make_boot_time_source(ex);
    co_await coro::sleep_for(*time, 1h);
}

awaitable<void> own_virtual_time(any_io_executor ex, witness) {
    coro::virtual_time time(ex);
    co_await coro::sleep_for(time, 1h);
}

awaitable<void> own_queued_work(any_io_executor ex, witness) {
    std::promise<void> entered;
    coro::worker w(ex);
    w.post([&] {
        entered.set_value();
        block(60ms);
    });
    entered.get_future().wait();
    co_await w.async_run([] {});
}

awaitable<void> own_running_work(any_io_executor ex, witness held) {
    coro::worker w(ex);
    int in_the_frame = 0;
    co_await w.async_run([&] {
        block(60ms);
        in_the_frame += *held;  // the frame must not go while this runs
    });
}

awaitable<void> own_scope(any_io_executor ex, witness held) {
    coro::task_scope scope(ex);
    scope.spawn(own_event(ex, held));
    scope.spawn(own_mutex(ex, held));
    co_await scope.join();
}

struct scenario {
    const char* name;
    awaitable<void> (*body)(any_io_executor, witness);
};

void PrintTo(const scenario& s, std::ostream* out) {
    *out << s.name;
}

class ContextEnd : public testing::TestWithParam<scenario> {};

TEST_P(ContextEnd, DestroysTheFrameThatOwnsWhatItWaitsFor) {
    const auto held = std::make_shared<int>(1);
    for (const bool on_strand : {false, true}) {
        asio::io_context context;
        any_io_executor ex = context.get_executor();
        if (on_strand)
            ex = asio::make_strand(context);
        asio::co_spawn(ex, GetParam().body(ex, held), asio::detached);
        context.run_for(3ms);
        EXPECT_GT(held.use_count(), 1) << "it does not wait";
    }
    EXPECT_EQ(held.use_count(), 1) << "the frame was leaked";
}

TEST_P(ContextEnd, OfAThreadPoolIsTheSame) {
    const auto held = std::make_shared<int>(1);
    {
        asio::thread_pool pool(2);
        const any_io_executor ex = asio::make_strand(pool);
        asio::co_spawn(ex, GetParam().body(ex, held), asio::detached);
        block(2ms);
    }
    EXPECT_EQ(held.use_count(), 1) << "the frame was leaked";
}

INSTANTIATE_TEST_SUITE_P(
    Own,
    ContextEnd,
    testing::Values(
        scenario{"event", own_event},
        scenario{"mutex", own_mutex},
        scenario{"boot_time", own_boot_time},
        scenario{"virtual_time", own_virtual_time},
        scenario{"queued_work", own_queued_work},
        scenario{"running_work", own_running_work},
        scenario{"scope", own_scope}
    ),
    test::param_name()
);

TEST(ContextEnd, LeavesPrimitivesThatOutliveItUsable) {
    const auto held = std::make_shared<int>(1);
    auto context = std::make_unique<asio::io_context>();
    const any_io_executor ex = context->get_executor();
    coro::event e(ex);
    coro::mutex m(ex);
    coro::virtual_time virtual_time(ex);
    const auto boot_time = coro::make_boot_time_source(ex);
    coro::worker w(ex);
    auto guard = m.try_lock();
    const std::array<std::function<awaitable<void>(witness)>, 4> waits = {
        [&](witness) -> awaitable<void> { co_await e.async_wait(); },
        [&](witness) -> awaitable<void> { const auto g = co_await m.async_lock(); },
        [&](witness) -> awaitable<void> { co_await coro::sleep_for(virtual_time, 1h); },
        [&](witness) -> awaitable<void> { co_await coro::sleep_for(*boot_time, 1h); },
    };
    for (const auto& wait : waits)
        asio::co_spawn(ex, wait(held), asio::detached);
    context->run_for(2ms);
    EXPECT_EQ(held.use_count(), 5);
    context.reset();
    EXPECT_EQ(held.use_count(), 1);
    e.set();
    EXPECT_TRUE(e.is_set());
    guard.reset();
    EXPECT_TRUE(m.try_lock()) << "a destroyed waiter was given the mutex";
    virtual_time.advance(2h);
    EXPECT_FALSE(w.post([] {})) << "the worker ends with its context";
}

TEST(ContextEnd, OfTheWaiterLeavesOtherWaitersOfThePrimitiveAlone) {
    asio::io_context survivor;
    coro::mutex m(survivor.get_executor());
    auto guard = m.try_lock();
    bool granted = false;
    const auto wait = [&](witness) -> awaitable<void> {
        const auto mine = co_await m.async_lock();
        granted = true;
    };
    const auto held = std::make_shared<int>(1);
    {
        asio::io_context context;
        asio::co_spawn(context, wait(held), asio::detached);
        context.poll();
        asio::co_spawn(survivor, wait(held), asio::detached);
        survivor.poll();
        EXPECT_EQ(held.use_count(), 3);
    }
    EXPECT_EQ(held.use_count(), 2);
    guard.reset();
    survivor.run();
    EXPECT_TRUE(granted);
    EXPECT_EQ(held.use_count(), 1);
}

/// Starts a wait where none can be served any more: in the destructor of a handler that is
/// destroyed with its context.
class waits_at_the_end {
public:
    waits_at_the_end(asio::io_context& context, coro::event& on, witness held)
        : context_(&context), on_(&on), held_(std::move(held)) {}
    waits_at_the_end(waits_at_the_end&&) = default;
    waits_at_the_end& operator=(waits_at_the_end&&) = delete;
    ~waits_at_the_end() {
        if (held_)
            on_->async_wait(asio::bind_executor(*context_, [held = held_](error_code) {}));
    }

private:
    asio::io_context* context_;
    coro::event* on_;
    witness held_;
};

TEST(ContextEnd, DestroysAWaitThatIsStartedTooLate) {
    asio::io_context other;
    coro::event e(other.get_executor());
    const auto held = std::make_shared<int>(1);
    {
        asio::io_context context;
        e.async_wait(asio::bind_executor(context, [](error_code) {}));
        // The scheduler is the oldest service of all and ends after ours.
        asio::post(context, [late = waits_at_the_end(context, e, held)] {});
    }
    EXPECT_EQ(held.use_count(), 1);
    e.set();
}

TEST(ContextEnd, OfALongQueueDoesNotNeedADeepStack) {
    constexpr int waiters = 20'000;
    const auto held = std::make_shared<int>(1);
    std::optional<asio::io_context> context(std::in_place);
    coro::mutex m(context->get_executor());
    // Services end in the reverse order of their creation. Ours is created by the first wait, so
    // that the strand's ends before it, while all of these still wait.
    auto guard = m.try_lock();
    m.async_lock([](error_code, coro::mutex_guard) {});
    guard.reset();
    context->poll();
    context->restart();
    guard = m.try_lock();
    ASSERT_TRUE(guard);
    const auto wait = [&m](witness) -> awaitable<void> {
        const auto mine = co_await m.async_lock();
    };
    for (const auto strand = asio::make_strand(*context); held.use_count() <= waiters;)
        asio::co_spawn(strand, wait(held), asio::detached);
    EXPECT_GT(context->poll(), 0U);
    guard.reset();  // the first is granted; destroying it grants the second, and so on
    context.reset();
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_TRUE(m.try_lock());
}

/// A read that blocks until the other end of the pipe is closed, as a lock that another process
/// holds would.
class blocking_pipe {
public:
    blocking_pipe() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }
    ~blocking_pipe() {
        release();
        ::close(ends_[0]);
    }
    int read() const {
        char byte = 0;
        return static_cast<int>(::read(ends_[0], &byte, 1));
    }
    void release() {
        if (ends_[1] >= 0)
            ::close(std::exchange(ends_[1], -1));
    }

private:
    std::array<int, 2> ends_{};
};

coro::worker_config impatient() {
    coro::worker_config config;
    config.grace = 5ms;
    return config;
}

TEST(WorkerDetached, IsLeftBehindWhenItsThreadIsStuckAndDeliversLater) {
    asio::io_context context;
    blocking_pipe pipe;
    std::promise<void> entered;
    int result = -1;
    {
        coro::worker w(context.get_executor(), impatient());
        w.async_run(
            [&] {
                entered.set_value();
                return pipe.read();
            },
            [&](error_code ec, int got) { result = ec ? -2 : got; }
        );
        entered.get_future().wait();
        const auto start = clock::now();
        w.stop();
        EXPECT_EQ(result, -1);
        EXPECT_LT(clock::now(), start + 1s);
    }  // returns although the thread is stuck
    pipe.release();
    context.run();
    EXPECT_EQ(result, 0);
}

TEST(WorkerDetached, IsNotLeftBehindByWhoWaitsForEver) {
    asio::io_context context;
    blocking_pipe pipe;
    coro::worker_config config;
    config.grace = std::chrono::milliseconds::max();
    std::promise<void> entered;
    std::atomic<bool> over = false;
    std::thread releaser;
    {
        coro::worker w(context.get_executor(), config);
        w.post([&] {
            entered.set_value();
            pipe.read();
            over = true;
        });
        entered.get_future().wait();
        releaser = std::thread([&] { pipe.release(); });
    }
    EXPECT_TRUE(over);
    releaser.join();
}

TEST(WorkerDetached, NeitherRunsNorDestroysTheHandlerWhenItsContextIsGone) {
    blocking_pipe pipe;
    std::promise<void> entered;
    const auto left = std::make_shared<std::promise<void>>();
    const auto held = std::make_shared<int>(1);
    std::optional<asio::io_context> context(std::in_place);
    std::optional<coro::worker> w(std::in_place, context->get_executor(), impatient());
    w->async_run(
        [&, left] {
            entered.set_value();
            pipe.read();
            left->set_value();
        },
        [held](error_code) { ADD_FAILURE(); }
    );
    entered.get_future().wait();
    context.reset();
    EXPECT_EQ(held.use_count(), 2) << "the stuck closure may still refer to its frame";
    w.reset();
    pipe.release();
    left->get_future().wait();
    EXPECT_EQ(held.use_count(), 2);
}

/// Posts to a strand when it is shut down, as a thread may that is only now told to stop.
class late_poster final : public coro::detail::shutdown_hook {
public:
    explicit late_poster(any_io_executor strand) : strand_(std::move(strand)) {}

    std::optional<bool> kept;

private:
    void shut_down() noexcept override {
        const auto frame = std::make_shared<int>(0);
        asio::post(strand_, [frame] {});
        kept = frame.use_count() > 1;
        strand_ = {};
    }

    any_io_executor strand_;
};

TEST(ContextEnd, FindsStrandsStillThereWhenThreadsAreToldToStop) {
    std::optional<asio::io_context> context(std::in_place);
    auto& service = coro::detail::wait_service::of(*context);  // before there is any strand
    const auto poster = std::make_shared<late_poster>(asio::make_strand(*context));
    ASSERT_TRUE(service.link(poster));
    context.reset();
    EXPECT_EQ(poster->kept, true) << "a strand that was shut down drops it at once";
}

}  // namespace mortise::context_end_test
