// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/backoff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace mortise::backoff_test {

using namespace std::chrono_literals;
using coro::backoff;
using coro::backoff_options;

std::vector<clock::duration> draw(backoff& pauses, int count) {
    std::vector<clock::duration> drawn;
    for (int i = 0; i < count; ++i)
        drawn.push_back(pauses.next());
    return drawn;
}

TEST(Backoff, DoublesTheBoundUpToTheCap) {
    backoff pauses({.first = 100ms, .max = 1s}, 7);
    std::vector<clock::duration> bounds;
    for (int i = 0; i < 6; ++i) {
        bounds.push_back(pauses.bound());
        EXPECT_LE(pauses.next(), bounds.back());
    }
    const std::vector<clock::duration> expected = {100ms, 200ms, 400ms, 800ms, 1s, 1s};
    EXPECT_EQ(bounds, expected);
    EXPECT_EQ(pauses.attempts(), 6U);
}

TEST(Backoff, DrawsFromTheWholeRange) {
    backoff pauses({.first = 1s, .max = 1s}, 42);
    const auto drawn = draw(pauses, 1'000);
    const auto [least, most] = std::minmax_element(drawn.begin(), drawn.end());
    EXPECT_GE(*least, 0ns);
    EXPECT_LT(*least, 20ms);
    EXPECT_GT(*most, 980ms);
    EXPECT_LE(*most, 1s);
}

TEST(Backoff, RepeatsItselfWithTheSameSeedOnly) {
    backoff one({}, 1);
    backoff same({}, 1);
    backoff other({}, 2);
    const auto drawn = draw(one, 20);
    EXPECT_EQ(drawn, draw(same, 20));
    EXPECT_NE(drawn, draw(other, 20));
}

TEST(Backoff, StartsOverAfterASuccess) {
    backoff pauses({.first = 100ms, .max = 10s}, 7);
    const auto before = draw(pauses, 5);
    pauses.reset();
    EXPECT_EQ(pauses.attempts(), 0U);
    EXPECT_EQ(pauses.bound(), 100ms);
    EXPECT_NE(before, draw(pauses, 5)) << "the random numbers must not start over";
}

TEST(Backoff, DoesNotOverflow) {
    backoff pauses({.first = 1ms, .max = std::chrono::hours(24 * 365), .factor = 4'000'000'000}, 1);
    draw(pauses, 50);
    EXPECT_EQ(pauses.bound(), std::chrono::hours(24 * 365));
}

TEST(Backoff, GivesTheBoundOfAnAttemptByItsNumber) {
    const backoff_options limits{.first = 100ms, .max = 1s};
    backoff pauses(limits, 7);
    EXPECT_EQ(coro::backoff_bound(limits, 0), 100ms) << "nothing was tried yet";
    for (std::uint32_t attempts = 1; attempts <= 6; ++attempts) {
        EXPECT_EQ(coro::backoff_bound(limits, attempts), pauses.bound()) << attempts;
        static_cast<void>(pauses.next());
    }
    const auto most = std::numeric_limits<std::uint32_t>::max();
    EXPECT_EQ(coro::backoff_bound(limits, most), 1s);
    EXPECT_EQ(coro::backoff_bound({.first = 100ms, .max = 1s, .factor = 1}, most), 100ms);
}

TEST(Backoff, JitterKeepsWithinItsInterval) {
    coro::jitter jitter(7);
    std::vector<clock::duration> drawn;
    for (int i = 0; i < 1'000; ++i)
        drawn.push_back(jitter.draw(100ms, 200ms));
    const auto [least, most] = std::minmax_element(drawn.begin(), drawn.end());
    EXPECT_GE(*least, 100ms);
    EXPECT_LT(*least, 102ms);
    EXPECT_GT(*most, 198ms);
    EXPECT_LE(*most, 200ms);
    EXPECT_EQ(jitter.draw(5ms, 5ms), 5ms);
}

TEST(BackoffDeathTest, RefusesLimitsThatMakeNoSense) {
    EXPECT_DEATH(backoff({.first = 0ms}, 1), "first >=");
    EXPECT_DEATH(backoff({.first = 2s, .max = 1s}, 1), "max >= options.first");
    EXPECT_DEATH(backoff({.factor = 0}, 1), "factor >= 1");
}

}  // namespace mortise::backoff_test
