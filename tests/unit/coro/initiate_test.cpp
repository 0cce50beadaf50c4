// SPDX-License-Identifier: BSL-1.0
// What all initiating functions have in common: tokens, executors, never inline.
#include "mortise/coro/detail/cancel_proxy.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/mutex.hpp"
#include "mortise/coro/worker.hpp"
#include "support/co_test.hpp"
#include "support/print.hpp"
#include "support/tracker_executor.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

namespace mortise::initiate_test {

using namespace std::chrono_literals;
using test::co_world;
using test::tracker_executor;

TEST(Completion, RunsOnTheHandlersExecutorAndNotInside) {
    co_world world;
    const tracker_executor own(world.context);
    const tracker_executor fallback(world.context);
    coro::event e(fallback);
    coro::mutex m(fallback);
    coro::worker w(fallback);
    int calls = 0;
    const auto here = [&](auto...) {
        ++calls;
        EXPECT_TRUE(own.runs_this());
    };
    const auto start_all = [&](auto handler) {
        auto held = m.try_lock();
        m.async_lock(handler);
        e.async_wait(handler);
        w.async_run([] {}, handler);
        world.time.async_wait_until(world.time.now() + 1s, handler);
        held.reset();
        e.set();
    };
    start_all(asio::bind_executor(own, here));
    EXPECT_EQ(calls, 0);
    const auto run = [&](int until) {
        while (calls < until) {  // a worker's thread is not bound to virtual time
            world.settle();
            world.context.restart();
            if (calls < until)
                world.context.run_one();
        }
    };
    run(4);
    EXPECT_GE(own.submitted(), 4);
}

TEST(Completion, RunsOnThePrimitivesExecutorIfTheHandlerHasNone) {
    co_world world;
    const tracker_executor fallback(world.context);
    coro::event e(fallback);
    e.set();
    bool there = false;
    e.async_wait([&](error_code) { there = fallback.runs_this(); });
    EXPECT_EQ(fallback.submitted(), 1);
    EXPECT_FALSE(there);
    world.settle();
    EXPECT_TRUE(there);
}

TEST(Completion, HereRunsAtOnceOnTheHandlersExecutorOnly) {
    using completion = coro::detail::completion<void(int)>;
    co_world world;
    const auto own = asio::make_strand(world.context);
    int got = 0;
    const auto fresh = [&] { return completion([&](int value) { got = value; }, own); };
    completion elsewhere = fresh();
    elsewhere.complete_here(1);
    EXPECT_FALSE(elsewhere);
    EXPECT_EQ(got, 0) << "this thread does not run it";
    world.settle();
    EXPECT_EQ(got, 1);
    asio::post(own, [&] {
        completion here = fresh();
        here.complete_here(2);
        EXPECT_FALSE(here);
        EXPECT_EQ(got, 2);
    });
    world.settle();
    EXPECT_EQ(got, 2);
}

TEST(Completion, HereDestroysTheHandlerWithItsContextIfItWasPosted) {
    auto context = std::make_unique<asio::io_context>();
    auto owned = std::make_shared<int>(0);
    const std::weak_ptr seen(owned);
    coro::detail::completion<void()> posted(
        [owned = std::move(owned)] { FAIL() << "nothing ran the context"; }, context->get_executor()
    );
    posted.complete_here();
    EXPECT_FALSE(seen.expired());
    context.reset();
    EXPECT_TRUE(seen.expired());
}

TEST(Initiate, TakesEveryToken) {
    asio::io_context context;
    coro::event e(context.get_executor());
    e.set();
    int done = 0;
    const auto body = [&]() -> asio::awaitable<void> {
        co_await e.async_wait();
        co_await e.async_wait(asio::deferred);
        co_await e.async_wait(asio::use_awaitable);
        auto [ec] = co_await e.async_wait(asio::as_tuple);
        EXPECT_FALSE(ec);
        co_await e.async_wait(asio::cancel_after(1h));
        co_await e.async_wait(asio::cancel_after(1h, asio::as_tuple(asio::deferred)));
        co_await e.async_wait(asio::as_tuple(asio::cancel_after(1h, asio::use_awaitable)));
        ++done;
    };
    asio::co_spawn(context, body(), asio::detached);
    auto future = e.async_wait(asio::use_future);
    e.async_wait(asio::any_completion_handler<void(error_code)>([&](error_code) { ++done; }));
    auto deferred = e.async_wait();
    std::move(deferred)([&](error_code) { ++done; });
    context.run();
    future.get();
    EXPECT_EQ(done, 3);
}

TEST(Initiate, StartsADeferredOperationOnlyWhenItIsAwaited) {
    co_world world;
    coro::mutex m(world.executor());
    {
        const auto unused = m.async_lock();
        world.settle();
    }
    EXPECT_TRUE(m.try_lock());
}

TEST(Initiate, KeepsItsArgumentsInADeferredOperation) {
    co_world world;
    using done_with = coro::detail::completion<void(error_code, std::string)>;
    const auto echo = [&](std::string text) {
        return coro::detail::async_start<void(error_code, std::string)>(
            world.executor(),
            asio::deferred,
            [](done_with done, std::string copy) { done.complete({}, std::move(copy)); },
            std::move(text)
        );
    };
    auto operation = echo(std::string(1'000, 'x'));
    std::string got;
    std::move(operation)([&](error_code, std::string text) { got = std::move(text); });
    world.settle();
    EXPECT_EQ(got, std::string(1'000, 'x'));
}

/// An operation that lives on a strand.
class strand_bound : public std::enable_shared_from_this<strand_bound> {
public:
    explicit strand_bound(asio::io_context& context) : strand_(asio::make_strand(context)) {}
    void listen(asio::cancellation_slot slot) {
        coro::detail::install_cancel_proxy(slot, weak_from_this());
    }
    asio::any_io_executor strand() const { return strand_; }
    void on_cancel(asio::cancellation_type_t type) {
        EXPECT_TRUE(strand_.running_in_this_thread());
        seen = type;
    }
    asio::cancellation_type_t seen{};

private:
    asio::strand<asio::any_io_executor> strand_;
};

class CancelProxy : public testing::TestWithParam<asio::cancellation_type> {};

TEST_P(CancelProxy, GoesToTheStrandOfTheOperation) {
    asio::io_context context;
    const auto operation = std::make_shared<strand_bound>(context);
    asio::cancellation_signal signal;
    operation->listen(signal.slot());
    signal.emit(GetParam());
    EXPECT_EQ(operation->seen, asio::cancellation_type::none) << "it ran where the signal was sent";
    context.run();
    EXPECT_EQ(operation->seen, GetParam());
}

TEST_P(CancelProxy, DoesNotKeepItsOperationAlive) {
    asio::io_context context;
    auto operation = std::make_shared<strand_bound>(context);
    asio::cancellation_signal signal;
    operation->listen(signal.slot());
    const std::weak_ptr<strand_bound> watched = operation;
    signal.emit(GetParam());
    operation.reset();
    EXPECT_FALSE(watched.expired()) << "it would end where the signal was sent";
    EXPECT_EQ(context.run(), 1U);
    EXPECT_TRUE(watched.expired());
    signal.emit(GetParam());
    context.restart();
    EXPECT_EQ(context.run(), 0U);
}

TEST_P(CancelProxy, MayOutliveTheContext) {
    asio::cancellation_signal signal;
    {
        asio::io_context context;
        const auto operation = std::make_shared<strand_bound>(context);
        operation->listen(signal.slot());
    }
    signal.emit(GetParam());
    signal.slot().clear();
}

TEST(CancelProxyWithoutSlot, InstallsNothing) {
    asio::io_context context;
    const auto operation = std::make_shared<strand_bound>(context);
    operation->listen(asio::cancellation_slot());
    EXPECT_EQ(context.run(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Types, CancelProxy, testing::ValuesIn(test::cancellation_types), test::param_name()
);

}  // namespace mortise::initiate_test
