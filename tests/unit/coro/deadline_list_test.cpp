// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/deadline_list.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::coro::detail::deadline_list_test {
namespace {

using namespace std::chrono_literals;

constexpr auto start = clock::time_point(1h);
constexpr auto never = clock::time_point::max();

class DeadlineList : public testing::Test {
protected:
    deadline_list::task note(char letter) {
        return [this, letter] { done_ += letter; };
    }

    void run_due(clock::time_point now) {
        while (const auto due = list_.take_due(now))
            due();
    }

    deadline_list list_;
    std::string done_;
};

TEST_F(DeadlineList, HasNothingDueWhenEmpty) {
    EXPECT_EQ(list_.next(), never);
    EXPECT_FALSE(list_.take_due(never));
}

TEST_F(DeadlineList, RunsWhatIsDueInTheOrderOfTime) {
    deadline_list::handle a, b, c;
    list_.set(a, start + 3s, note('a'));
    list_.set(b, start + 1s, note('b'));
    list_.set(c, start + 2s, note('c'));
    EXPECT_EQ(list_.next(), start + 1s);
    run_due(start + 1s - 1ns);
    EXPECT_EQ(done_, "");
    run_due(start + 2s);
    EXPECT_EQ(done_, "bc");
    EXPECT_EQ(list_.next(), start + 3s);
    run_due(never);
    EXPECT_EQ(done_, "bca");
    EXPECT_EQ(list_.next(), never);
}

TEST_F(DeadlineList, RunsEqualDeadlinesInTheOrderOfTheirMaking) {
    deadline_list::handle a, b, c;
    list_.set(c, start, note('c'));
    list_.set(a, start, note('a'));
    list_.set(b, start, note('b'));
    run_due(start);
    EXPECT_EQ(done_, "cab");
}

TEST_F(DeadlineList, SettingAgainReplaces) {
    deadline_list::handle a;
    list_.set(a, start + 1s, note('a'));
    list_.set(a, start + 5s, note('A'));
    run_due(start + 4s);
    EXPECT_EQ(done_, "");
    list_.set(a, start + 2s, note('x'));
    run_due(start + 9s);
    EXPECT_EQ(done_, "x");
}

TEST_F(DeadlineList, ClearedDeadlinesDoNotRun) {
    deadline_list::handle a, b;
    list_.set(a, start, note('a'));
    list_.set(b, start, note('b'));
    list_.clear(a);
    list_.clear(a);
    run_due(start);
    EXPECT_EQ(done_, "b");
    list_.clear(b);  // that it ran already is no harm
    list_.set(b, start, note('B'));
    run_due(start);
    EXPECT_EQ(done_, "bB");
}

TEST_F(DeadlineList, KeepsNothingForTheEndOfTime) {
    deadline_list::handle a;
    list_.set(a, start, note('a'));
    list_.set(a, never, note('n'));
    EXPECT_FALSE(a);
    EXPECT_EQ(list_.next(), never);
    EXPECT_FALSE(list_.take_due(never));
}

TEST_F(DeadlineList, ATaskMaySetAndClearWhileItRuns) {
    deadline_list::handle a, b, c;
    list_.set(b, start + 1s, note('b'));
    list_.set(a, start, [&] {
        done_ += 'a';
        list_.clear(b);
        list_.set(a, start + 2s, note('A'));
        list_.set(c, start, note('c'));
    });
    run_due(start + 1s);
    EXPECT_EQ(done_, "ac");
    EXPECT_EQ(list_.next(), start + 2s);
}

TEST_F(DeadlineList, LetsGoOfWhatATaskOwns) {
    const auto owned = std::make_shared<int>(0);
    deadline_list::handle a, b;
    list_.set(a, start, [owned] {});
    list_.set(b, start, [owned] {});
    EXPECT_EQ(owned.use_count(), 3);
    list_.clear(a);
    EXPECT_EQ(owned.use_count(), 2);
    run_due(start);
    EXPECT_EQ(owned.use_count(), 1);
    list_.set(a, start, [owned] {});
    list_.clear();
    EXPECT_EQ(owned.use_count(), 1);
    EXPECT_EQ(list_.next(), never);
}

}  // namespace
}  // namespace mortise::coro::detail::deadline_list_test
