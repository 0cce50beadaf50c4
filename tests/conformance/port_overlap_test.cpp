// SPDX-License-Identifier: BSL-1.0
// Calls of one session that are under way together.
#include "conformance/port_conformance.hpp"
#include "mortise/coro/event.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

asio::awaitable<void>
release_and_ask(peer& by, grant before, grant& after, std::shared_ptr<coro::event> done) {
    auto releasing = by.port().release(before);
    const auto released = co_await std::move(releasing);
    EXPECT_TRUE(released && *released);
    auto holding = by.hold(before.name);
    after = co_await std::move(holding);
    done->set();
}

asio::awaitable<void> look_once(peer& by, std::shared_ptr<coro::event> done) {
    auto looking = by.port().look(0);
    const auto view = co_await std::move(looking);
    EXPECT_TRUE(view) << view.error().message();
    done->set();
}

// A look asks for several locks; what it is told of one is old when it comes to it.
TEST_P(StorePort, ALookTakesNoGrantForTheOneBeforeIt) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const auto executor = harness.executor();
        peer alice(harness, std::chrono::seconds(30));
        co_await alice.open();
        std::vector<grant> held;
        for (const char* const name : {"attic", "cellar", "door"})
            held.push_back(co_await alice.hold(name));
        constexpr int rounds = 8;
        for (int round = 0; round < rounds; ++round) {
            std::vector<std::shared_ptr<coro::event>> all;
            const auto another = [&] {
                return all.emplace_back(std::make_shared<coro::event>(executor));
            };
            auto after = held;
            asio::co_spawn(executor, look_once(alice, another()), asio::detached);
            for (std::size_t i = 0; i < held.size(); ++i) {
                auto turning = release_and_ask(alice, held[i], after[i], another());
                asio::co_spawn(executor, std::move(turning), asio::detached);
            }
            for (const auto& each : all) {
                auto waiting = each->async_wait(asio::use_awaitable);
                co_await std::move(waiting);
            }
            for (std::size_t i = 0; i < held.size(); ++i)
                EXPECT_GT(after[i].token.value, held[i].token.value) << held[i].name;
            held = after;
        }
        for (const auto& each : held) {
            const auto released = co_await alice.port().release(each);
            EXPECT_TRUE(released && *released) << each.name;
        }
        EXPECT_TRUE((co_await alice.port().look(0))->entries.empty());
    }(h()));
}

asio::awaitable<void> release_only(peer& by, grant held, std::shared_ptr<coro::event> done) {
    auto releasing = by.port().release(held);
    co_await std::move(releasing);
    done->set();
}

asio::awaitable<void> ask_only(peer& by, std::string name, std::shared_ptr<coro::event> done) {
    auto asking = by.ask(std::move(name));
    co_await std::move(asking);
    done->set();
}

TEST_P(StorePort, EndLeavesNothingOfCallsThatAreUnderWay) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const auto executor = harness.executor();
        peer alice(harness, std::chrono::seconds(30));
        co_await alice.open();
        const grant held = co_await alice.hold("door");
        const auto released = std::make_shared<coro::event>(executor);
        const auto asked = std::make_shared<coro::event>(executor);
        asio::co_spawn(executor, release_only(alice, held, released), asio::detached);
        asio::co_spawn(executor, ask_only(alice, "door", asked), asio::detached);
        auto begun = asio::post(executor, asio::use_awaitable);
        co_await std::move(begun);
        EXPECT_FALSE(co_await alice.port().end());
        EXPECT_EQ(harness.residue(), 0u) << harness.left();
        for (const auto& each : {released, asked}) {
            auto waiting = each->async_wait(asio::use_awaitable);
            co_await std::move(waiting);
        }
        EXPECT_EQ(harness.residue(), 0u) << harness.left();
    }(h()));
}

}  // namespace
}  // namespace mortise::test
