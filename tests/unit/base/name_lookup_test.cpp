// SPDX-License-Identifier: BSL-1.0
#include "base/name_lookup.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <vector>

namespace mortise::name_lookup_test {
namespace {

using namespace std::chrono_literals;
using addresses = result<std::vector<asio::ip::address>>;

class NameLookup : public testing::Test {
protected:
    std::future<addresses> find(const std::string& host) {
        return asio::co_spawn(context_, lookup_.find(host, 20s), asio::use_future);
    }

    asio::io_context context_{1};
    detail::name_lookup lookup_{context_.get_executor()};
};

TEST_F(NameLookup, TakesAnAddressAsItIs) {
    auto found = find("::1");
    context_.poll();  // without a thread that looks it up
    ASSERT_EQ(found.wait_for(0s), std::future_status::ready);
    EXPECT_EQ(found.get().value(), std::vector{asio::ip::make_address("::1")});
}

TEST_F(NameLookup, FindsTheAddressesOfAName) {
    auto found = find("localhost");
    context_.run();
    const auto all = found.get();
    ASSERT_TRUE(all && !all->empty());
    EXPECT_TRUE(std::all_of(all->begin(), all->end(), [](const auto& each) {
        return each.is_loopback();
    }));
}

TEST_F(NameLookup, EndsAtOnceWhenItIsGivenUp) {
    auto found = find("localhost");
    context_.poll_one();  // the look-up begins
    lookup_.give_up();
    context_.run();
    EXPECT_EQ(found.get().error(), asio::error::operation_aborted);
}

}  // namespace
}  // namespace mortise::name_lookup_test
