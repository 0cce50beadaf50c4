// SPDX-License-Identifier: BSL-1.0
// The empty lease: never acquired, moved from or released. Leases that hold something are tested
// with their clients (tests/unit/client, tests/conformance).
#include "mortise/lease.hpp"
#include "support/co_test.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace mortise::lease_test {
namespace {

void expect_empty(const lease& none) {
    EXPECT_FALSE(none);
    EXPECT_EQ(none.name(), "");
    EXPECT_FALSE(none.token());
    EXPECT_TRUE(none.token().domain.empty());
    EXPECT_EQ(none.state(), lease_state::released);
    EXPECT_FALSE(none.held());
    EXPECT_EQ(none.check(), errc::lease_released);
    EXPECT_TRUE(none.check() == condition::not_held);
    EXPECT_EQ(none.valid_until(), clock::time_point::min());
    EXPECT_EQ(none.verified_ago(), clock::duration::max());
}

TEST(EmptyLease, HoldsNothing) {
    expect_empty(lease());
    expect_empty(lease(nullptr));
}

TEST(EmptyLease, CanBeMovedAndMovedOnto) {
    lease first;
    lease second(std::move(first));
    first = std::move(second);
    lease& same = first;
    first = std::move(same);
    expect_empty(first);
    expect_empty(second);
}

TEST(EmptyLease, HasANameForEachState) {
    std::set<std::string> names;
    for (const auto each :
         {lease_state::held, lease_state::unsure, lease_state::lost, lease_state::released})
        EXPECT_TRUE(names.insert(to_string(each)).second);
    EXPECT_EQ(names, (std::set<std::string>{"held", "lost", "released", "unsure"}));
}

CO_TEST(EmptyLease, ReleasesNothing) {
    lease none;
    const auto result = co_await none.async_release(asio::as_tuple(asio::deferred));
    EXPECT_EQ(std::get<0>(result), errc::lease_released);
    EXPECT_TRUE(world.context.get_executor().running_in_this_thread());
    expect_empty(none);
}

CO_TEST(EmptyLease, HasNothingToLose) {
    lease none;
    const auto result = co_await none.async_wait_lost(asio::as_tuple(asio::deferred));
    EXPECT_EQ(std::get<0>(result), errc::lease_released);
    EXPECT_TRUE(world.context.get_executor().running_in_this_thread());
}

CO_TEST(EmptyLease, GuardRefusesBeforeTheWorkBegins) {
    const lease none;
    bool began = false;
    auto work = [&]() -> asio::awaitable<int> {
        began = true;
        co_return 1;
    };
    error_code code;
    try {
        auto guarded = none.guard(work());
        co_await std::move(guarded);
    } catch (const boost::system::system_error& refused) {
        code = refused.code();
    }
    EXPECT_EQ(code, errc::lease_released);
    EXPECT_FALSE(began);
}

TEST(EmptyLease, CompletesOnTheHandlersExecutorAndNeverFromInside) {
    asio::io_context context;
    int done = 0;
    const auto handler = [&](error_code code) {
        EXPECT_EQ(code, errc::lease_released);
        ++done;
    };
    lease none;
    none.async_release(asio::bind_executor(context, handler));
    none.async_wait_lost(asio::bind_executor(context, handler));
    EXPECT_EQ(done, 0);
    context.run();
    EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace mortise::lease_test
