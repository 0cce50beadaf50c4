// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_CO_TEST_HPP
#define MORTISE_TESTS_SUPPORT_CO_TEST_HPP

#include "support/co_world.hpp"

#include <gtest/gtest.h>

/// A test that is a coroutine, run in virtual time; `world` is its co_world.
///
///     CO_TEST(Event, WakesAll) { co_await coro::sleep_for(world.time, 1s); }
///
/// `EXPECT_*` work as ever; `ASSERT_*` return and cannot be used in a coroutine: see `CO_ASSERT`.
#define CO_TEST(suite, name)                                                                       \
    static ::boost::asio::awaitable<void> co_test_##suite##_##name(::mortise::test::co_world&);    \
    TEST(suite, name) {                                                                            \
        ::mortise::test::co_world world;                                                           \
        world.run([&world] { return co_test_##suite##_##name(world); });                           \
    }                                                                                              \
    static ::boost::asio::awaitable<void> co_test_##suite##_##name(                                \
        [[maybe_unused]] ::mortise::test::co_world& world                                          \
    )

/// Ends the coroutine when the condition does not hold.
#define CO_ASSERT(...)                                                                             \
    if (static_cast<bool>(__VA_ARGS__)) {                                                          \
    } else {                                                                                       \
        ADD_FAILURE() << "is false: " #__VA_ARGS__;                                                \
        co_return;                                                                                 \
    }                                                                                              \
    static_assert(true)

#endif
