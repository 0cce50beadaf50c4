// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/strand_seat.hpp"
#include "mortise/coro/event.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>

namespace mortise::coro::detail::strand_seat_test {
namespace {

using work = strand_seat::work;

/// Somebody who lives on a seat.
class resident final : public shutdown_hook {
public:
    explicit resident(asio::io_context& context, work how = work::counted)
        : seat(context.get_executor(), how) {}
    ~resident() override { wait_service::unlink(*this); }

    strand_seat seat;
    int ends = 0;

private:
    void shut_down() noexcept override {
        ++ends;
        seat.leave();
    }
};

/// Somebody who stays when the context goes: it ends before the check.
class last_one final : public shutdown_hook {
public:
    last_one(asio::io_context& context, resident& other) : context_(context), other_(other) {}

    std::optional<bool> seat_for_others;

private:
    void shut_down() noexcept override {
        const auto late = std::make_shared<resident>(context_);
        seat_for_others = late->seat.take(late);
        EXPECT_TRUE(late->seat.deserted());
        EXPECT_TRUE(other_.seat.deserted());
    }

    asio::io_context& context_;
    resident& other_;
};

asio::awaitable<void> wait_on(event& gate) {
    auto waiting = gate.async_wait();
    co_await std::move(waiting);
}

TEST(StrandSeat, IsDesertedUntilItIsTakenAndWhenTheContextHasEnded) {
    std::optional<asio::io_context> context(std::in_place);
    const auto who = std::make_shared<resident>(*context);
    EXPECT_TRUE(who->seat.deserted());
    EXPECT_TRUE(who->seat.take(who));
    EXPECT_FALSE(who->seat.deserted());
    EXPECT_EQ(who->seat.executor(), context->get_executor());
    EXPECT_EQ(who->ends, 0);
    context.reset();
    EXPECT_EQ(who->ends, 1);
    EXPECT_TRUE(who->seat.deserted());
}

TEST(StrandSeat, CannotBeTakenWhileTheContextEnds) {
    std::optional<asio::io_context> context(std::in_place);
    const auto who = std::make_shared<resident>(*context);
    EXPECT_TRUE(who->seat.take(who));
    const auto last = std::make_shared<last_one>(*context, *who);
    EXPECT_TRUE(wait_service::of(*context).link(last));
    context.reset();
    EXPECT_EQ(last->seat_for_others, false);
}

TEST(StrandSeat, IsDesertedInAForkedChild) {
    asio::io_context context;
    const auto who = std::make_shared<resident>(context);
    EXPECT_TRUE(who->seat.take(who));
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(who->seat.deserted() && who->seat.forked() ? 7 : 8);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_FALSE(who->seat.deserted());
    EXPECT_FALSE(who->seat.forked());
}

TEST(StrandSeat, WhatWaitsOnItKeepsTheContextRunningOrNot) {
    for (const work how : {work::counted, work::not_counted}) {
        asio::io_context context;
        const auto who = std::make_shared<resident>(context, how);
        event never(who->seat.strand());
        asio::co_spawn(who->seat.strand(), wait_on(never), asio::detached);
        context.poll();
        EXPECT_EQ(context.stopped(), how == work::not_counted);
    }
}

}  // namespace
}  // namespace mortise::coro::detail::strand_seat_test
