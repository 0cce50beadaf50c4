// SPDX-License-Identifier: BSL-1.0
#include "store/redis/command_lane.hpp"
#include "support/co_test.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::store_detail::command_lane_test {
namespace {

using priority = command_lane::priority;
using test::co_world;

/// Commands that note when they are sent; the test answers them.
class CommandLane : public testing::Test {
protected:
    void send(char command, priority urgency = priority::normal) {
        world_.start([this, command, urgency]() -> asio::awaitable<void> {
            if (!lane_.enter_now(urgency)) {
                auto entering = lane_.enter(urgency);
                const bool entered = co_await std::move(entering);
                sent_ += entered ? command : '-';
            } else {
                sent_ += command;
            }
        });
        world_.settle();
    }

    void refuse(char command) {
        world_.start([this, command]() -> asio::awaitable<void> {
            auto entering = lane_.enter_again();
            const bool entered = co_await std::move(entering);
            sent_ += entered ? command : '-';
        });
        world_.settle();
    }

    void answer() {
        lane_.leave();
        world_.settle();
    }

    void fill() {
        while (lane_.enter_now(priority::normal))
            ++filled_;
    }

    co_world world_;
    command_lane lane_{world_.executor()};
    std::string sent_;
    std::size_t filled_ = 0;
};

TEST_F(CommandLane, HasRoomForSoManyAtOnce) {
    fill();
    EXPECT_EQ(filled_, command_lane::in_flight_max);
    EXPECT_EQ(lane_.in_flight(), command_lane::in_flight_max);
}

TEST_F(CommandLane, SendsInTheOrderOfTheCalls) {
    fill();
    send('a');
    send('b');
    EXPECT_EQ(sent_, "");
    answer();
    EXPECT_EQ(sent_, "a");
    send('c');
    answer();
    answer();
    EXPECT_EQ(sent_, "abc");
}

TEST_F(CommandLane, IsNotEnteredBesideWhoWasAdmittedAndHasNotRunYet) {
    fill();
    send('a');
    lane_.leave();
    lane_.leave();
    EXPECT_FALSE(lane_.enter_now(priority::normal)) << "it would be sent before its predecessor";
    world_.settle();
    EXPECT_EQ(sent_, "a");
    EXPECT_TRUE(lane_.enter_now(priority::normal));
}

TEST_F(CommandLane, LetsAnUrgentOnePassAll) {
    fill();
    send('a');
    send('u', priority::urgent);
    EXPECT_EQ(sent_, "u");
    EXPECT_EQ(lane_.in_flight(), command_lane::in_flight_max + 1);
    answer();
    EXPECT_EQ(sent_, "u") << "one too many was in flight";
    answer();
    EXPECT_EQ(sent_, "ua");
}

TEST_F(CommandLane, RepeatsWhatWasRefusedBeforeAllThatCameLater) {
    send('a');
    send('b');
    send('c');
    refuse('A');
    send('d');
    send('u', priority::urgent);
    EXPECT_EQ(sent_, "abc") << "the answers to b and c are not here";
    refuse('B');
    EXPECT_EQ(sent_, "abc");
    refuse('C');
    EXPECT_EQ(sent_, "abcABCud");
    EXPECT_FALSE(lane_.out_of_order());
}

TEST_F(CommandLane, NoticesThatALaterOneOvertookARefusedOne) {
    send('a');
    send('b');
    refuse('A');
    answer();
    EXPECT_TRUE(lane_.out_of_order());
    EXPECT_EQ(sent_, "ab") << "it must not be sent behind b";
    lane_.clear();
    world_.settle();
    EXPECT_EQ(sent_, "ab-");
    EXPECT_FALSE(lane_.out_of_order());
    EXPECT_EQ(lane_.in_flight(), 0u);
}

TEST_F(CommandLane, SendsAwayWhoWaitsWhenItIsCleared) {
    fill();
    send('a');
    send('u', priority::urgent);
    lane_.leave();
    lane_.leave();
    lane_.clear();
    world_.settle();
    EXPECT_EQ(sent_, "u-") << "one that was admitted has no connection any more";
    EXPECT_EQ(lane_.in_flight(), 0u);
    send('b');
    EXPECT_EQ(sent_, "u-b");
    EXPECT_EQ(lane_.in_flight(), 1u);
}

}  // namespace
}  // namespace mortise::store_detail::command_lane_test
