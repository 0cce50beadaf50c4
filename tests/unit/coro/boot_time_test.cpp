// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "support/print.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <fcntl.h>

#include <optional>
#include <string>

namespace mortise::boot_time_test {

using namespace std::chrono_literals;
using coro::make_boot_time_source;
using coro::time_source;

TEST(BootTime, WaitsInRealTimeInTheOrderOfDeadlines) {
    asio::io_context context;
    const auto time = make_boot_time_source(context.get_executor());
    const auto start = time->now();
    std::string order;
    const auto note = [&](char who, clock::duration after) {
        time->async_wait_until(start + after, [&, who, after](error_code ec) {
            EXPECT_FALSE(ec);
            EXPECT_GE(time->now(), start + after) << "woken before its moment";
            order += who;
        });
    };
    note('b', 8ms);
    note('c', 12ms);
    note('a', 4ms);  // earlier than the one that the timer is set to
    context.run();   // and it returns, since nobody waits any longer
    EXPECT_EQ(order, "abc");
    EXPECT_LT(time->now(), start + 5s);
}

TEST(BootTime, CanBeWaitedForAgainAfterItRested) {
    asio::io_context context;
    const auto time = make_boot_time_source(context.get_executor());
    for (int i = 0; i < 3; ++i) {
        bool woken = false;
        time->async_wait_until(time->now() + 2ms, [&](error_code ec) { woken = !ec; });
        context.restart();
        context.run();
        EXPECT_TRUE(woken);
    }
}

TEST(BootTime, ArmsAgainForWhatAHandlerStarts) {
    asio::io_context context;
    const auto time = make_boot_time_source(context.get_executor());
    int woken = 0;
    const auto body = [&]() -> asio::awaitable<void> {
        for (; woken < 5; ++woken)
            co_await coro::sleep_for(*time, 1ms);
    };
    asio::co_spawn(context, body(), asio::detached);
    context.run();
    EXPECT_EQ(woken, 5);
}

TEST(BootTime, CompletesAPastMomentByPost) {
    asio::io_context context;
    const auto time = make_boot_time_source(context.get_executor());
    int woken = 0;
    for (const auto when : {clock::time_point::min(), clock::time_point(), time->now()})
        time->async_wait_until(when, [&](error_code ec) { woken += !ec; });
    EXPECT_EQ(woken, 0);
    context.run();
    EXPECT_EQ(woken, 3);
}

TEST(BootTime, TakesMomentsOfTheFarFuture) {
    asio::io_context context;
    const auto time = make_boot_time_source(context.get_executor());
    asio::cancellation_signal signal;
    int aborted = 0;
    const auto count = [&](error_code ec) { aborted += ec == asio::error::operation_aborted; };
    const auto far = clock::time_point::max() - clock::duration(1);
    time->async_wait_until(far, asio::bind_cancellation_slot(signal.slot(), count));
    bool woken = false;
    time->async_wait_until(time->now() + 2ms, [&](error_code ec) {
        woken = !ec;
        signal.emit(asio::cancellation_type::total);
    });
    context.run();
    EXPECT_TRUE(woken);
    EXPECT_EQ(aborted, 1);
}

TEST(BootTime, LetsItsContextStopWhenAllWaitsWereCancelled) {
    asio::io_context context;
    const auto time = make_boot_time_source(context.get_executor());
    asio::cancellation_signal signal;
    int aborted = 0;
    time->async_wait_until(
        time->now() + 1h,
        asio::bind_cancellation_slot(signal.slot(), [&](error_code) { ++aborted; })
    );
    asio::post(context, [&] { signal.emit(asio::cancellation_type::total); });
    context.run();
    EXPECT_EQ(aborted, 1);
}

TEST(BootTime, CompletesWhoWaitsWhenItIsDestroyed) {
    asio::io_context context;
    auto time = make_boot_time_source(context.get_executor());
    int aborted = 0;
    time->async_wait_until(clock::time_point::max(), [&](error_code ec) {
        aborted += ec == asio::error::operation_aborted;
    });
    time->async_wait_until(time->now() + 1h, [&](error_code ec) {
        aborted += ec == asio::error::operation_aborted;
    });
    context.poll();
    time.reset();
    EXPECT_EQ(aborted, 0);
    context.run();
    EXPECT_EQ(aborted, 2);
}

TEST(BootTime, MayOutliveItsContext) {
    std::optional<asio::io_context> context(std::in_place);
    const auto time = make_boot_time_source(context->get_executor());
    time->async_wait_until(time->now() + 1h, [](error_code) { ADD_FAILURE(); });
    context->poll();
    context.reset();
    EXPECT_GT(time->now(), clock::time_point());
}

TEST(BootTime, ClosesItsDescriptorWithTheContextOrTheSource) {
    const auto descriptors = [] {
        int open = 0;
        for (int fd = 0; fd < 256; ++fd)
            open += ::fcntl(fd, F_GETFD) >= 0;
        return open;
    };
    const int before = descriptors();
    for (const bool source_first : {true, false}) {
        std::optional<asio::io_context> context(std::in_place);
        auto time = make_boot_time_source(context->get_executor());
        EXPECT_GT(descriptors(), before);
        if (source_first)
            time.reset();
        context.reset();
        EXPECT_EQ(descriptors(), before);
    }
}

class BootTimeCancellation : public testing::TestWithParam<asio::cancellation_type> {};

TEST_P(BootTimeCancellation, EndsTheWaitAtOnceAndNoOther) {
    asio::io_context context;
    const auto time = make_boot_time_source(context.get_executor());
    asio::cancellation_signal signal;
    error_code result;
    bool other = false;
    time->async_wait_until(
        clock::time_point::max(),
        asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { result = ec; })
    );
    time->async_wait_until(time->now() + 3ms, [&](error_code ec) { other = !ec; });
    context.poll();
    signal.emit(GetParam());
    EXPECT_FALSE(result) << "completed inside emit()";
    context.run();
    EXPECT_EQ(result, asio::error::operation_aborted);
    EXPECT_TRUE(other);
}

INSTANTIATE_TEST_SUITE_P(
    Types, BootTimeCancellation, testing::ValuesIn(test::cancellation_types), test::param_name()
);

}  // namespace mortise::boot_time_test
