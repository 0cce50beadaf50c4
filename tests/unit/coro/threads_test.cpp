// SPDX-License-Identifier: BSL-1.0
// Each thread-safe primitive used from four threads; the thread sanitizer has a build of its own.
#include "mortise/coro/event.hpp"
#include "mortise/coro/mutex.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/coro/worker.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>

namespace mortise::threads_test {

using namespace std::chrono_literals;
using asio::awaitable;

constexpr int threads = 4;
constexpr int coroutines = 16;
constexpr int rounds = 50;

TEST(Threads, MutexExcludesAndIsFreeAtTheEnd) {
    asio::thread_pool pool(threads);
    coro::mutex m(pool.get_executor());
    int guarded = 0;  // deliberately not atomic
    const auto body = [&]() -> awaitable<void> {
        for (int i = 0; i < rounds; ++i) {
            const auto guard = co_await m.async_lock();
            ++guarded;
        }
    };
    for (int i = 0; i < coroutines; ++i)
        asio::co_spawn(asio::make_strand(pool), body(), asio::detached);
    pool.join();
    EXPECT_EQ(guarded, coroutines * rounds);
    EXPECT_TRUE(m.try_lock());
}

/// A coroutine on a strand of its own that is cancelled from that strand, as Asio demands, while
/// whoever completes its wait runs elsewhere.
class cancellable {
public:
    cancellable(asio::thread_pool& pool, awaitable<void> body) : strand_(asio::make_strand(pool)) {
        asio::co_spawn(
            strand_,
            std::move(body),
            asio::bind_cancellation_slot(
                signal_->slot(),
                [signal = signal_, over = over_](std::exception_ptr) { *over = true; }
            )
        );
    }
    void cancel() {
        asio::post(strand_, [signal = signal_, over = over_] {
            if (!*over)
                signal->emit(asio::cancellation_type::terminal);
        });
    }

private:
    asio::strand<asio::any_io_executor> strand_;
    std::shared_ptr<asio::cancellation_signal> signal_ =
        std::make_shared<asio::cancellation_signal>();
    std::shared_ptr<bool> over_ = std::make_shared<bool>(false);
};

TEST(Threads, CancellationNeverLosesAHandOff) {
    for (int i = 0; i < rounds; ++i) {
        asio::thread_pool pool(threads);
        coro::mutex m(pool.get_executor());
        std::atomic<int> inside = 0;
        const auto body = [&]() -> awaitable<void> {
            const auto guard = co_await m.async_lock();
            EXPECT_EQ(++inside, 1);
            --inside;
        };
        {
            auto held = m.try_lock();
            std::deque<cancellable> waiting;
            for (int j = 0; j < coroutines; ++j)
                waiting.emplace_back(pool, body());
            for (auto& each : waiting)
                asio::post(pool, [&each] { each.cancel(); });
            asio::post(pool, [guard = std::move(*held)]() mutable { guard.unlock(); });
            pool.join();
        }
        EXPECT_TRUE(m.try_lock());
    }
}

TEST(Threads, EventWakesEveryoneHoweverSetAndCancelRace) {
    for (int i = 0; i < rounds; ++i) {
        asio::thread_pool pool(threads);
        coro::event e(pool.get_executor());
        std::atomic<int> ended = 0;
        const auto body = [&]() -> awaitable<void> {
            auto [ec] = co_await e.async_wait(asio::as_tuple);
            EXPECT_TRUE(!ec || ec == asio::error::operation_aborted);
            ++ended;
        };
        std::deque<cancellable> waiting;
        for (int j = 0; j < coroutines; ++j)
            waiting.emplace_back(pool, body());
        for (auto& each : waiting)
            asio::post(pool, [&each] { each.cancel(); });
        asio::post(pool, [&e] { e.set(); });
        pool.join();
        EXPECT_EQ(ended, coroutines);
    }
}

TEST(Threads, BootTimeServesAllThreads) {
    asio::thread_pool pool(threads);
    const auto time = coro::make_boot_time_source(pool.get_executor());
    std::atomic<int> woken = 0;
    const auto body = [&](int seed) -> awaitable<void> {
        for (int i = 0; i < 5; ++i) {
            co_await coro::sleep_for(*time, std::chrono::microseconds(100 * ((seed * 7 + i) % 9)));
            ++woken;
        }
    };
    for (int i = 0; i < coroutines; ++i)
        asio::co_spawn(asio::make_strand(pool), body(i), asio::detached);
    pool.join();
    EXPECT_EQ(woken, coroutines * 5);
}

TEST(Threads, WorkerTakesWorkFromAllThreads) {
    asio::thread_pool pool(threads);
    coro::worker w(pool.get_executor());
    int on_the_thread = 0;  // only the worker's thread touches it
    std::atomic<int> sum = 0;
    const auto body = [&]() -> awaitable<void> {
        for (int i = 0; i < rounds; ++i)
            sum += co_await w.async_run([&] { return on_the_thread++ < 0 ? 0 : 1; });
    };
    for (int i = 0; i < coroutines; ++i)
        asio::co_spawn(asio::make_strand(pool), body(), asio::detached);
    pool.join();
    EXPECT_EQ(sum, coroutines * rounds);
}

TEST(Threads, WorkerStopsWhileWorkComesIn) {
    for (int i = 0; i < rounds; ++i) {
        asio::thread_pool pool(threads);
        coro::worker w(pool.get_executor());
        std::atomic<int> ended = 0;
        for (int j = 0; j < coroutines; ++j) {
            asio::post(pool, [&] {
                w.async_run(
                    [] {},
                    [&](error_code ec) {
                        EXPECT_TRUE(!ec || ec == asio::error::operation_aborted);
                        ++ended;
                    }
                );
            });
        }
        asio::post(pool, [&] { w.stop(); });
        pool.join();
        EXPECT_EQ(ended, coroutines);
    }
}

TEST(Threads, ContextMayEndWhileTheWorkerDelivers) {
    for (int i = 0; i < rounds; ++i) {
        auto pool = std::make_unique<asio::thread_pool>(2);
        asio::thread_pool other(1);
        coro::worker w(other.get_executor());
        const auto held = std::make_shared<int>(0);
        const auto body = [&w](std::shared_ptr<int>) -> awaitable<void> {
            for (;;)
                co_await w.async_run([] {});
        };
        asio::co_spawn(asio::make_strand(*pool), body(held), asio::detached);
        pool->stop();
        pool.reset();
        EXPECT_EQ(held.use_count(), 1);
    }
}

TEST(Threads, ScopeIsSpawnedIntoFromAllThreads) {
    asio::thread_pool pool(threads);
    coro::task_scope scope(asio::make_strand(pool));
    int count = 0;  // all tasks run on the strand
    const auto task = [&]() -> awaitable<void> {
        ++count;
        co_return;
    };
    for (int i = 0; i < coroutines; ++i)
        asio::post(pool, [&] { scope.spawn(task()); });
    bool joined = false;
    const auto owner = [&]() -> awaitable<void> {
        while (count < coroutines)
            co_await asio::post(asio::deferred);
        co_await scope.join();
        joined = true;
    };
    asio::co_spawn(scope.get_executor(), owner(), asio::detached);
    pool.join();
    EXPECT_TRUE(joined);
    EXPECT_EQ(scope.size(), 0U);
}

}  // namespace mortise::threads_test
