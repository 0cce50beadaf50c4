// SPDX-License-Identifier: BSL-1.0
// What several sentinels say together, some of whom are silent, late or wrong.
#include "store/redis/sentinel_circle.hpp"
#include "support/fake_sentinel.hpp"
#include "support/machine_delay.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <vector>

namespace mortise::store_detail::sentinel_circle_test {
namespace {

using namespace std::chrono_literals;
using test::fake_sentinel;

constexpr std::uint16_t here = 1'001;
constexpr std::uint16_t there = 1'002;

class SentinelCircle : public testing::Test {
protected:
    ~SentinelCircle() override {
        for (const auto& each : circles_)
            each->close();
        context_.restart();
        context_.run();
    }

    std::shared_ptr<sentinel_circle> circle(bool listens = false) {
        std::vector<wire_settings> all;
        for (const auto& each : sentinels_) {
            wire_settings one;
            one.host = "127.0.0.1";
            one.port = each.port();
            one.role = redis_role::sentinel;
            one.connect_max = 1s;
            all.push_back(one);
        }
        circles_.push_back(std::make_shared<sentinel_circle>(
            asio::make_strand(context_), all, fake_sentinel::primary_name, listens, patience_
        ));
        return circles_.back();
    }

    named_primary found(const std::shared_ptr<sentinel_circle>& by) {
        named_primary primary;
        bool done = false;
        asio::co_spawn(
            context_,
            [&]() -> asio::awaitable<void> {
                auto finding = by->find();
                primary = co_await std::move(finding);
                done = true;
            },
            asio::detached
        );
        pass([&] { return done; });
        EXPECT_TRUE(done);
        return primary;
    }

    template <class Predicate>
    bool pass(Predicate until, std::chrono::milliseconds most = 10s) {
        const auto end = clock::now() + most;
        context_.restart();
        while (!until() && clock::now() < end)
            context_.run_one_for(10ms);
        return until();
    }

    sentinel_patience patience_;
    asio::io_context context_;
    std::array<fake_sentinel, 3> sentinels_{
        fake_sentinel(here), fake_sentinel(here), fake_sentinel(here)};
    std::vector<std::shared_ptr<sentinel_circle>> circles_;
};

TEST_F(SentinelCircle, BelievesWhatMostSay) {
    sentinels_[0].name(there);
    EXPECT_EQ(found(circle()).port, here);
    sentinels_[1].name(there);
    EXPECT_EQ(found(circle()).port, there);
}

TEST_F(SentinelCircle, AsksThemSideBySide) {
    sentinels_[0].leave();
    sentinels_[1].leave();
    const test::machine_delay delay;
    const auto begun = clock::now();
    EXPECT_EQ(found(circle()).port, here) << "one is enough where the others cannot be reached";
    EXPECT_LT(clock::now() - begun, 1s + delay.so_far())
        << "which is one time-out, at most, and no sum of them";
}

TEST_F(SentinelCircle, TellsWhyNobodyKnows) {
    for (auto& each : sentinels_)
        each.leave();
    const auto none = found(circle());
    EXPECT_EQ(none.failure.code, errc::store_unavailable);
    EXPECT_NE(none.failure.text.find("sentinel 127.0.0.1:"), std::string::npos)
        << none.failure.text;
}

TEST_F(SentinelCircle, TellsWhenMostNameAnother) {
    const auto all = circle(true);
    int moved = 0;
    all->watch(found(all), [&] { ++moved; });
    sentinels_[0].announce(there);
    EXPECT_FALSE(pass([&] { return moved != 0; }, 500ms)) << "the others say otherwise";
    sentinels_[2].announce(there);
    EXPECT_TRUE(pass([&] { return moved != 0; }));
    sentinels_[1].announce(there);
    EXPECT_FALSE(pass([&] { return moved > 1; }, 200ms)) << "once";
}

// It may be cut off together with a primary that was deposed, and the others be away for a moment.
TEST_F(SentinelCircle, LeavesNoPrimaryForWhatAMinoritySays) {
    const auto all = circle(true);
    int moved = 0;
    all->watch(found(all), [&] { ++moved; });
    sentinels_[0].leave();
    sentinels_[1].leave();
    sentinels_[2].announce(there);
    EXPECT_FALSE(pass([&] { return moved != 0; }, 500ms));
    sentinels_[1].name(there);
    sentinels_[1].come_back();
    EXPECT_TRUE(pass([&] { return moved != 0; }));
}

// It missed the message, but not the change.
TEST_F(SentinelCircle, AsksAgainWhomItCouldNotReach) {
    const auto all = circle(true);
    int moved = 0;
    all->watch(found(all), [&] { ++moved; });
    for (auto& each : sentinels_) {
        each.leave();
        each.name(there);
    }
    EXPECT_FALSE(pass([&] { return moved != 0; }, 300ms));
    for (auto& each : sentinels_)
        each.come_back();
    EXPECT_TRUE(pass([&] { return moved != 0; }));
}

TEST_F(SentinelCircle, LeavesThoseWhoseConnectionsAreOpenAndDead) {
    patience_.answer_max = 200ms;
    const auto all = circle(true);
    EXPECT_EQ(found(all).port, here);
    for (auto& each : sentinels_)
        each.fall_silent();
    // Most of them were enough for the first answer; that of the last one may still have come.
    named_primary none;
    for (std::size_t stale = 0; stale <= sentinels_.size() && !none.failure.code; ++stale)
        none = found(all);
    EXPECT_EQ(none.failure.code, errc::store_unavailable);
    // Or "does not greet": of one whose connection was opened in that moment.
    EXPECT_NE(none.failure.text.find("it does not"), std::string::npos) << none.failure.text;
}

// Their connections died without a word, and so no message of the change could come.
TEST_F(SentinelCircle, AsksAgainWhoWasQuietForLong) {
    patience_.answer_max = 200ms;
    patience_.quiet_max = 300ms;
    const auto all = circle(true);
    int moved = 0;
    all->watch(found(all), [&] { ++moved; });
    for (auto& each : sentinels_)
        each.name(there);
    EXPECT_TRUE(pass([&] { return moved != 0; }));
}

TEST_F(SentinelCircle, ThatIsClosedTellsNothing) {
    const auto all = circle(true);
    int moved = 0;
    all->watch(found(all), [&] { ++moved; });
    all->close();
    for (auto& each : sentinels_)
        each.announce(there);
    EXPECT_FALSE(pass([&] { return moved != 0; }, 200ms));
}

}  // namespace
}  // namespace mortise::store_detail::sentinel_circle_test
