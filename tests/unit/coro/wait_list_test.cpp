// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/coro/detail/wait_list.hpp"
#include "support/co_world.hpp"
#include "support/print.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/strand.hpp>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::wait_list_test {

using coro::detail::wait_outcome;
using test::co_world;

using names = coro::detail::wait_list<std::string, std::unique_ptr<int>>;
using name_completion = names::completion_type;

class WaitList : public testing::Test {
protected:
    template <class Handler>
    name_completion waiter(Handler handler) {
        return name_completion(std::move(handler), world_.executor());
    }

    auto note() {
        return [this](error_code ec, std::string name, std::unique_ptr<int> n) {
            seen_.push_back((ec ? "-" : "+") + name + (n ? std::to_string(*n) : ""));
        };
    }

    co_world world_;
    names list_;
    std::vector<std::string> seen_;
};

using lines = std::vector<std::string>;

TEST_F(WaitList, CompletesTheOldestWithArgumentsThatOnlyMove) {
    EXPECT_FALSE(list_.complete_one({}, "nobody", nullptr));
    list_.add(waiter(note()));
    list_.add(waiter(note()));
    EXPECT_EQ(list_.size(), 2U);
    EXPECT_TRUE(list_.complete_one({}, "a", std::make_unique<int>(1)));
    EXPECT_TRUE(list_.complete_one(asio::error::eof, "b", nullptr));
    EXPECT_EQ(list_.size(), 0U);
    EXPECT_EQ(seen_, lines());
    world_.settle();
    EXPECT_EQ(seen_, (lines{"+a1", "-b"}));
}

TEST_F(WaitList, CallsOtherwiseOnlyIfNobodyWaits) {
    int otherwise = 0;
    list_.add(waiter(note()));
    auto taken = list_.take_one([&] { ++otherwise; });
    EXPECT_TRUE(taken);
    EXPECT_FALSE(list_.take_one([&] { ++otherwise; }));
    EXPECT_EQ(otherwise, 1);
    taken.complete({}, "x", nullptr);
    EXPECT_FALSE(taken);
    world_.settle();
    EXPECT_EQ(seen_, (lines{"+x"}));
}

TEST_F(WaitList, LeavesTheWaiterToTheCallerWhenThereIsNoNeedToWait) {
    auto mine = waiter(note());
    EXPECT_EQ(list_.wait_unless(mine, [] { return true; }), wait_outcome::ready);
    EXPECT_TRUE(mine);
    int asked = 0;
    const auto on_the_second_look = [&] { return ++asked == 2; };
    EXPECT_EQ(list_.wait_unless(mine, on_the_second_look), wait_outcome::ready);
    EXPECT_TRUE(mine);
    EXPECT_EQ(list_.size(), 0U);
    EXPECT_EQ(list_.wait_unless(mine, [] { return false; }), wait_outcome::waits);
    EXPECT_FALSE(mine);
    EXPECT_EQ(list_.size(), 1U);
    list_.close();
    auto late = waiter(note());
    EXPECT_EQ(list_.wait_unless(late, [] { return false; }), wait_outcome::closed);
    EXPECT_TRUE(late);
}

TEST_F(WaitList, DestroysATakenWaiterThatIsNotCompleted) {
    const auto held = std::make_shared<int>(1);
    list_.add(waiter([held](error_code, std::string, std::unique_ptr<int>) { ADD_FAILURE(); }));
    EXPECT_EQ(held.use_count(), 2);
    { const auto taken = list_.take_one(); }
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_EQ(world_.settle(), 0U);
}

TEST_F(WaitList, KeepsTheContextRunningWhileSomebodyWaits) {
    list_.add(waiter(note()));
    world_.context.poll();
    EXPECT_FALSE(world_.context.stopped());
    list_.complete_one({}, "a", nullptr);
    world_.context.poll();
    EXPECT_TRUE(world_.context.stopped());
}

TEST_F(WaitList, CompletesOnTheExecutorOfAnErasedHandler) {
    const auto strand = asio::make_strand(world_.context);
    bool there = false;
    names::completion_type::handler_type erased =
        asio::bind_executor(strand, [&](error_code, std::string, std::unique_ptr<int>) {
            there = strand.running_in_this_thread();
        });
    list_.add(name_completion(std::move(erased), world_.executor()));
    list_.complete_one({}, "a", nullptr);
    EXPECT_FALSE(there);
    world_.settle();
    EXPECT_TRUE(there);
}

TEST_F(WaitList, GivesTheSlotAwayWhenAWaitIsToBeDeaf) {
    asio::cancellation_signal signal;
    auto deaf = waiter(asio::bind_cancellation_slot(signal.slot(), note()));
    EXPECT_TRUE(deaf.slot().is_connected());
    const auto slot = deaf.release_slot();
    EXPECT_TRUE(slot.is_connected());
    EXPECT_FALSE(deaf.slot().is_connected());
    list_.add(std::move(deaf));
    signal.emit(asio::cancellation_type::total);
    EXPECT_EQ(list_.size(), 1U);
}

TEST_F(WaitList, IgnoresASignalOfNoType) {
    asio::cancellation_signal signal;
    list_.add(waiter(asio::bind_cancellation_slot(signal.slot(), note())));
    signal.emit(asio::cancellation_type::none);
    EXPECT_EQ(list_.size(), 1U);
    signal.emit(asio::cancellation_type::all);
    EXPECT_EQ(list_.size(), 0U);
}

TEST(WaitListOfCodes, CompletesAllThatWaitAtTheMomentOfTheChange) {
    co_world world;
    coro::detail::wait_list<int> list;
    std::vector<int> seen;
    const auto note = [&](error_code, int value) { seen.push_back(value); };
    using completion = coro::detail::wait_list<int>::completion_type;
    for (int i = 0; i < 3; ++i)
        list.add(completion(note, world.executor()));
    bool changed = false;
    EXPECT_EQ(list.complete_all_after([&] { changed = true; }, {}, 7), 3U);
    EXPECT_TRUE(changed);
    EXPECT_EQ(list.complete_all({}, 8), 0U);
    world.settle();
    EXPECT_EQ(seen, (std::vector{7, 7, 7}));
}

}  // namespace mortise::wait_list_test
