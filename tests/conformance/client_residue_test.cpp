// SPDX-License-Identifier: BSL-1.0
// Many names and many sessions: a store lists them all, and keeps nothing of those that are over.
#include "conformance/client_fixture.hpp"
#include "support/amount.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using std::chrono::milliseconds;

asio::awaitable<void> use_name(lock_client& locks, std::string name) {
    lease held = co_await locks.async_acquire(std::move(name));
    co_await held.async_release();
}

// Uses every `step`-th name from `from` on.
asio::awaitable<void>
use_names(lock_client& locks, std::size_t from, std::size_t step, std::size_t end) {
    for (std::size_t i = from; i < end; i += step)
        co_await use_name(locks, "name-" + std::to_string(i));
}

TEST_P(LockConformance, OfManyNamesThatWereUsedNothingIsLeft) {
    constexpr std::size_t users = 100;
    const std::size_t names = amount("MORTISE_RESIDUE_NAMES", 5'000, h().many_names());
    client_config config = config_of(h());
    config.ttl = std::chrono::seconds(30);
    h().expect_ttl(config.ttl);
    lock_client alice(h().executor(), h().make_store(), config);
    for (const std::string& name : h().names_at_servers())
        h().run(use_name(alice, name));
    const auto before = h().residue();
    std::size_t running = users;
    for (std::size_t i = 0; i < users; ++i) {
        asio::co_spawn(
            h().executor(),
            use_names(alice, i, users, names),
            [&running](std::exception_ptr thrown) {
                EXPECT_FALSE(thrown);
                --running;
            }
        );
    }
    ASSERT_TRUE(h().run_until([&] { return running == 0; }, std::chrono::seconds(200)));
    EXPECT_GE(alice.stats().grants, names);
    EXPECT_EQ(h().residue(), before);
    h().run([](lock_client& locks) -> asio::awaitable<void> {
        co_await locks.async_stop();
    }(alice));
    EXPECT_EQ(h().residue(), 0u);
}

asio::awaitable<void> open_and_hold(peer& who, std::string name) {
    co_await who.open();
    co_await who.hold(name);
    co_await who.ask("door");
}

TEST_P(StorePort, OfSessionsThatEndAndThatDieNothingIsLeft) {
    constexpr std::size_t sessions = 20;
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alive(harness, std::chrono::seconds(30));
        co_await alive.open();
        co_await alive.hold("door");
        const auto own = harness.residue();
        for (std::size_t i = 0; i < sessions; ++i) {
            peer other(harness);
            co_await open_and_hold(other, "window-" + std::to_string(i));
            if (i % 2 == 0) {
                EXPECT_FALSE(co_await other.port().end());
            }
        }
        // The dead ones lapse, and somebody is there to notice it.
        const auto end = harness.time()->now() + 10 * harness.ttl();
        while (harness.residue() != own && harness.time()->now() < end) {
            EXPECT_TRUE(co_await alive.port().beat(0));
            co_await pause(harness, harness.ttl() / 4);
        }
        EXPECT_EQ(harness.residue(), own);
        EXPECT_FALSE(co_await alive.port().end());
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

// A server that a busy machine has stopped for too long may have been left meanwhile.
asio::awaitable<std::vector<lock_view>>
list_after(peer& who, const std::string* after, std::size_t limit) {
    constexpr int attempts_max = 5;
    error_code failed;
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        auto listing = who.port().list(*after, limit, 3);
        auto page = co_await std::move(listing);
        if (page)
            co_return std::move(*page);
        failed = page.error();
    }
    ADD_FAILURE() << failed.message();
    co_return std::vector<lock_view>();
}

TEST_P(StorePortSessions, ListsManyLocksOfSeveralSessionsInOrderPageByPage) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        const std::size_t count = harness.several_portions();
        const std::size_t limit = count * 2 / 5;
        peer alice(harness, std::chrono::seconds(30));
        peer bob(harness, std::chrono::seconds(30));
        co_await alice.open();
        co_await bob.open();
        std::vector<std::string> names;
        std::vector<grant> of_alice;
        for (std::size_t i = 0; i < count; ++i) {
            names.push_back("lock-" + std::to_string(i * 7919 % 10'007));
            if (i % 2 == 0)
                of_alice.push_back(co_await alice.hold(names.back()));
            else
                co_await bob.hold(names.back());
        }
        std::sort(names.begin(), names.end());
        EXPECT_EQ((co_await alice.port().look(0))->entries.size(), of_alice.size());

        std::vector<std::string> listed;
        for (bool more = true; more;) {
            const std::string after = listed.empty() ? "" : listed.back();
            auto listing = list_after(alice, &after, limit);
            const auto page = co_await std::move(listing);
            for (const auto& each : page) {
                EXPECT_EQ(each.holders.size(), 1u) << each.name;
                listed.push_back(each.name);
            }
            more = page.size() == limit;
        }
        EXPECT_EQ(listed, names);

        for (const auto& each : of_alice)
            EXPECT_TRUE(*co_await alice.port().release(each));
        const std::string beginning;
        auto listing = list_after(bob, &beginning, count);
        EXPECT_EQ((co_await std::move(listing)).size(), count - of_alice.size());
        EXPECT_FALSE(co_await alice.port().end());
        EXPECT_FALSE(co_await bob.port().end());
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

}  // namespace
}  // namespace mortise::test
