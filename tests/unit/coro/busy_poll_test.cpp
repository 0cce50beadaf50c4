// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/busy_poll.hpp"
#include "mortise/coro/detail/worker_host.hpp"
#include "support/eventually.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>

namespace mortise::coro::detail::busy_poll_test {
namespace {

using namespace std::chrono_literals;

// How many answers it does not poll for before it tries again.
int rests(poll_judge& judge) {
    int answers = 0;
    while (!judge.admits())
        ++answers;
    return answers;
}

TEST(PollJudge, PollsAsLongAsItPays) {
    poll_judge judge;
    for (int i = 0; i < 30; ++i) {
        ASSERT_EQ(rests(judge), 0);
        i % 3 == 0 ? judge.wasted() : judge.earned();
    }
}

TEST(PollJudge, RestsLongerAndLongerWhereItDoesNot) {
    poll_judge judge;
    for (int i = 0; i < 4; ++i) {
        judge.wasted();
        ASSERT_EQ(rests(judge), 0) << "it is tried " << i;
    }
    for (const int expected : {16, 32, 64, 128, 256, 512, 1'024, 1'024}) {
        judge.wasted();
        EXPECT_EQ(rests(judge), expected);
    }
}

TEST(PollJudge, ForgetsWhatItHasSeenOnceItPaysAgain) {
    poll_judge judge;
    for (int i = 0; i < 10; ++i) {
        judge.wasted();
        rests(judge);
    }
    for (int i = 0; i < 8; ++i)
        judge.earned();
    for (int i = 0; i < 5; ++i)
        judge.wasted();
    EXPECT_EQ(rests(judge), 16);
}

TEST(PollJudge, RestsWhenOthersAreAtWork) {
    poll_judge judge;
    judge.rest();
    EXPECT_EQ(rests(judge), 16);
}

class BusyPoll : public testing::Test {
protected:
    /// Whether the loop would not sleep.
    bool is_awake() {
        context_.restart();
        return context_.poll_one() != 0;
    }
    bool stays_awake() {
        for (int i = 0; i < 100; ++i) {
            if (!is_awake())
                return false;
        }
        return true;
    }

    asio::io_context context_;
    std::optional<busy_poll> poll_;
};

TEST_F(BusyPoll, KeepsTheLoopAwakeUntilTheAnswerIsThere) {
    poll_.emplace(context_.get_executor(), 1h);
    EXPECT_FALSE(is_awake());
    poll_->begin();
    EXPECT_TRUE(stays_awake());
    poll_->end();
    EXPECT_TRUE(is_awake()) << "its last handler";
    EXPECT_FALSE(is_awake());
}

TEST_F(BusyPoll, LeavesOtherHandlersTheirTurn) {
    poll_.emplace(context_.get_executor(), 1h);
    poll_->begin();
    bool ran = false;
    asio::post(context_, [&] { ran = true; });
    is_awake();
    is_awake();
    EXPECT_TRUE(ran);
}

TEST_F(BusyPoll, PostsOneHandlerForAnswersThatFollowOneAnother) {
    poll_.emplace(context_.get_executor(), 1h);
    poll_->begin();
    for (int i = 0; i < 10; ++i) {
        poll_->end();
        poll_->begin();
    }
    poll_->end();
    EXPECT_EQ(context_.poll(), 1u);
}

TEST_F(BusyPoll, SleepsAfterItsTime) {
    poll_.emplace(context_.get_executor(), 1us);
    poll_->begin();
    EXPECT_TRUE(test::eventually([this] { return !is_awake(); }));
    poll_->end();
}

TEST_F(BusyPoll, ThatFindsNothingInItsTimeIsNotTriedForEachAnswer) {
    poll_.emplace(context_.get_executor(), 1us);
    int tries = 0;
    for (int i = 0; i < 1'000; ++i) {
        poll_->begin();
        context_.restart();
        tries += context_.poll() != 0 ? 1 : 0;
        poll_->end();
    }
    EXPECT_GE(tries, 5);
    EXPECT_LE(tries, 15);
}

TEST_F(BusyPoll, IsForALoopOfOneThread) {
    poll_.emplace(context_.get_executor(), 1h);
    poll_->begin();
    std::size_t ran = 0;
    std::thread([&] { ran = context_.poll(); }).join();
    EXPECT_EQ(ran, 1u) << "another thread steps once and sees that it is another one";
}

TEST_F(BusyPoll, IsOffWithoutATime) {
    poll_.emplace(context_.get_executor(), 0us);
    poll_->begin();
    EXPECT_FALSE(is_awake());
    poll_->rest();
    poll_->end();
}

TEST_F(BusyPoll, IsOffInASimulation) {
    worker_host::install(context_, [](const std::function<void()>&) {});
    poll_.emplace(context_.get_executor(), 1h);
    poll_->begin();
    EXPECT_FALSE(is_awake());
}

TEST_F(BusyPoll, RestsInTheMiddleOfAnAnswer) {
    poll_.emplace(context_.get_executor(), 1h);
    poll_->begin();
    poll_->rest();
    EXPECT_EQ(context_.poll(), 1u);
    poll_->end();
    poll_->begin();
    EXPECT_FALSE(is_awake());
}

TEST_F(BusyPoll, ThatIsGoneKeepsNothingAwake) {
    poll_.emplace(context_.get_executor(), 1h);
    poll_->begin();
    poll_.reset();
    EXPECT_EQ(context_.poll(), 1u);
}

}  // namespace
}  // namespace mortise::coro::detail::busy_poll_test
