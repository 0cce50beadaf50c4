// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/clock.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace mortise::clock_test {

using namespace std::chrono_literals;
using time_point = clock::time_point;

TEST(Clock, ReadsTheBootTime) {
    // The kernel's own account of CLOCK_BOOTTIME, in hundredths of a second.
    const auto uptime = [] {
        double seconds = -1;
        std::ifstream("/proc/uptime") >> seconds;
        return std::chrono::duration<double>(seconds);
    };
    const auto before = uptime();
    const auto now = clock::now().time_since_epoch();
    const auto after = uptime();
    EXPECT_LE(before, now + 10ms);
    EXPECT_LE(now, after + 10ms);
    EXPECT_LE(now, clock::now().time_since_epoch());
}

TEST(Clock, HasTheShapeOfSteadyClock) {
    static_assert(clock::is_steady);
    static_assert(std::chrono::is_clock_v<clock>);
    static_assert(std::is_same_v<clock::duration, std::chrono::nanoseconds>);
}

TEST(SaturatingAdd, AddsWhatFits) {
    constexpr time_point start(5s);
    static_assert(coro::saturating_add(start, 3s) == time_point(8s));
    static_assert(coro::saturating_add(start, -3s) == time_point(2s));
    static_assert(coro::saturating_add(start, -9s) == time_point(-4s));
    static_assert(coro::saturating_add(start, 1500us) == time_point(5s + 1500us));
    EXPECT_EQ(coro::saturating_add(start, std::chrono::duration<double>(0.5)), start + 500ms);
}

TEST(SaturatingAdd, StopsAtTheEndsOfTheClock) {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    using std::chrono::nanoseconds;
    constexpr time_point start(5s);
    EXPECT_EQ(coro::saturating_add(start, milliseconds::max()), time_point::max());
    EXPECT_EQ(coro::saturating_add(start, milliseconds::min()), time_point::min());
    EXPECT_EQ(coro::saturating_add(start, hours::max()), time_point::max());
    EXPECT_EQ(coro::saturating_add(start, nanoseconds::max()), time_point::max());
    EXPECT_EQ(coro::saturating_add(time_point(-5s), nanoseconds::min()), time_point::min());
    EXPECT_EQ(coro::saturating_add(time_point::max(), 1ns), time_point::max());
    EXPECT_EQ(coro::saturating_add(time_point::max(), 0ns), time_point::max());
    EXPECT_EQ(coro::saturating_add(time_point::min(), -1ns), time_point::min());
}

TEST(SaturatingAdd, IsExactJustBelowTheEnd) {
    using std::chrono::nanoseconds;
    EXPECT_EQ(coro::saturating_add(time_point(0ns), nanoseconds::max()), time_point::max());
    const auto almost = nanoseconds::max() - 1ns;
    EXPECT_EQ(coro::saturating_add(time_point(0ns), almost), time_point(almost));
    EXPECT_EQ(coro::saturating_add(time_point(1ns), almost), time_point::max());
}

}  // namespace mortise::clock_test
