// SPDX-License-Identifier: BSL-1.0
// Who only looks at a store, and how much one client may ask of it.
#include "unit/zookeeper/rooted.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mortise::test::zookeeper_visitor_test {
namespace {

constexpr auto coded = asio::as_tuple(asio::deferred);

class ZooKeeperVisitor : public testing::TestWithParam<const char*> {};

TEST_P(ZooKeeperVisitor, OfAStoreThatNobodyHasMadeMakesNone) {
    rooted place(std::string("visited_") + GetParam());
    with_client(
        place.url({}, std::string("&form=") + GetParam()),
        [&](lock_client& locks) -> asio::awaitable<void> {
            EXPECT_TRUE((co_await locks.async_list("", 10, 10)).empty());
            EXPECT_FALSE(co_await locks.async_inspect("door", 10));
            EXPECT_FALSE(co_await locks.async_break_holders("door", "a test"));
            EXPECT_TRUE((co_await locks.async_breaks("", 10)).empty());
            const auto found = co_await locks.async_examine();
            const auto none = std::find_if(found.begin(), found.end(), [](const auto& each) {
                return each.subject == "store";
            });
            EXPECT_NE(none, found.end());
            EXPECT_NE(none->found.find(place.root), std::string::npos) << none->found;
            const auto all = place.tree.children("/");
            EXPECT_FALSE(std::count(all.begin(), all.end(), place.root.substr(1)));
            const lease held = co_await locks.async_acquire("door");
            EXPECT_EQ((co_await locks.async_list("", 10, 10)).size(), 1u);
            const auto then = co_await locks.async_examine();
            EXPECT_TRUE(std::none_of(then.begin(), then.end(), [](const auto& each) {
                return each.subject == "store";
            }));
        }
    );
}

// Servers write down the paths of a session that ends, and read at most so many of them.
TEST_P(ZooKeeperVisitor, MayHaveNoMoreNodesThanTheServersBear) {
    rooted place(std::string("many_") + GetParam());
    with_client(
        place.url({}, std::string("&paths_max_bytes=2000&form=") + GetParam()),
        [&](lock_client& locks) -> asio::awaitable<void> {
            std::vector<lease> held;
            error_code failed;
            while (!failed && held.size() < 100) {
                auto got = co_await locks.async_acquire(
                    "door_" + std::to_string(held.size()), lock_options(), coded
                );
                failed = std::get<0>(got);
                if (!failed)
                    held.push_back(std::move(std::get<1>(got)));
            }
            EXPECT_EQ(failed, errc::store_full);
            EXPECT_NE(locks.explain().find("paths_max"), std::string::npos) << locks.explain();
            EXPECT_GT(held.size(), 10u);
            EXPECT_LT(held.size(), 70u);
            EXPECT_EQ(place.tree.children(place.root + "/locks").size(), held.size());
            const auto tried = co_await locks.async_try_acquire("gate", lock_options(), coded);
            EXPECT_EQ(std::get<0>(tried), errc::store_full);
            co_await held.front().async_release();
            const lease another = co_await locks.async_acquire("gate");
            EXPECT_TRUE(another.held());
        }
    );
}

INSTANTIATE_TEST_SUITE_P(Forms, ZooKeeperVisitor, testing::Values("queue", "single_node"));

}  // namespace
}  // namespace mortise::test::zookeeper_visitor_test
