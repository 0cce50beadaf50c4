// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"

#include <string>

namespace mortise::test {
namespace {

using kind = answer::kind;

TEST_P(StorePort, EndFreesEverythingAndLeavesNothing) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        co_await alice.hold("door");
        co_await alice.hold("window");
        co_await bob.ask("door");
        const request_id waits = bob.last_id();
        EXPECT_FALSE(co_await alice.port().end());
        EXPECT_TRUE(co_await bob.hears(store_event::kind::granted, waits));
        co_await bob.hold("window");
        EXPECT_FALSE(co_await bob.port().end());
    }(h()));
    EXPECT_EQ(h().residue(), 0u);
}

TEST_P(StorePortSessions, ASessionWithoutHeartbeatDiesAndItsLocksPassOn) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        // Before the opening: a busy machine may be slow between it and the loop.
        const auto opened = harness.time()->now();
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        co_await bob.ask("door");
        const request_id waits = bob.last_id();
        const auto start = harness.time()->now();
        bool granted = false;
        // Only Bob sends heartbeats, when the store asks for them.
        while (!granted && harness.time()->now() - start < 3 * harness.ttl()) {
            const auto beat = co_await bob.port().beat(0);
            EXPECT_TRUE(beat);
            const auto pause = std::min<clock::duration>(
                beat->next_deadline.value_or(harness.ttl() / 3), harness.ttl() / 3
            );
            granted = co_await bob.hears(
                store_event::kind::granted,
                waits,
                std::max<clock::duration>(pause, std::chrono::milliseconds(1))
            );
        }
        EXPECT_TRUE(granted);
        EXPECT_GT(bob.heard_token().value, held.token.value);
        EXPECT_GE(harness.time()->now() - opened, harness.ttl() * 9 / 10);
        // The dead session is told so, and stays dead, whatever it tries.
        EXPECT_EQ((co_await alice.port().beat(0)).error(), errc::session_lost);
        EXPECT_EQ((co_await alice.port().release(held)).error(), errc::session_lost);
        EXPECT_EQ((co_await alice.ask("door")).error(), errc::session_lost);
        EXPECT_EQ((co_await alice.resume(2)).error(), errc::session_lost);
    }(h()));
}

TEST_P(StorePort, HeartbeatsKeepASessionForAsLongAsTheyCome) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        co_await alice.hold("door");
        const auto end = harness.time()->now() + 2 * harness.ttl();
        while (harness.time()->now() < end) {
            const auto before = harness.time()->now();
            const auto beat = co_await alice.port().beat(0);
            EXPECT_TRUE(beat);
            if (!beat)
                co_return;
            EXPECT_GE(beat->sent, before);
            EXPECT_LE(beat->sent, harness.time()->now());
            EXPECT_TRUE(alice.has_counted(*beat, 1, 0));
            EXPECT_TRUE(co_await bob.port().beat(0));
            co_await harness.time()->async_wait_until(harness.time()->now() + harness.ttl() / 4);
        }
        const auto refused = co_await bob.ask("door", false);
        EXPECT_EQ(refused->type, kind::refused);
    }(h()));
}

TEST_P(StorePort, ALowerGenerationIsRefused) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        const grant held = co_await alice.hold("door");
        const auto again = co_await alice.resume(3);
        EXPECT_TRUE(again);
        if (!again)
            co_return;
        const auto view = co_await alice.port().look(0);
        EXPECT_TRUE(view && view->entries.size() == 1u && view->entries[0].token == held.token);
        EXPECT_FALSE(co_await alice.resume(2));
    }(h()));
}

TEST_P(StorePortSessions, TheChangeNumberGrowsWhenSomebodyElseGrants) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        const resumed opened = co_await bob.open();
        const grant held = co_await alice.hold("door");
        co_await bob.ask("door");
        const auto before = co_await bob.port().beat(0);
        EXPECT_EQ(before->changes, opened.view.changes);  // a session's own changes do not count
        EXPECT_TRUE(bob.has_counted(*before, 0, 1));
        co_await alice.port().release(held);
        if (harness.pushes_are_hints()) {
            EXPECT_TRUE(co_await bob.hears(told_kind::granted, bob.last_id()));
        }
        const auto after = co_await bob.port().beat(0);
        EXPECT_GT(after->changes, before->changes);
        EXPECT_TRUE(bob.has_counted(*after, 1, 0));
        const auto view = co_await bob.port().look(0);
        EXPECT_EQ(view->changes, after->changes);
        EXPECT_EQ(view->entries.size(), 1u);
        EXPECT_TRUE(view->entries.at(0).granted);
        EXPECT_EQ(view->entries.at(0).name, "door");
        EXPECT_TRUE(view->entries.at(0).token);
    }(h()));
}

TEST_P(StorePortSessions, BreakTakesTheLockFromThatGrantOnly) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        co_await bob.ask("door");
        const request_id waits = bob.last_id();
        fencing_token other = held.token;
        other.value += 1'024;
        EXPECT_FALSE(*co_await bob.break_("door", other));
        EXPECT_TRUE(*co_await bob.break_("door", held.token));
        EXPECT_TRUE(co_await bob.hears(store_event::kind::granted, waits));
        EXPECT_TRUE(co_await alice.hears(store_event::kind::look_again, 0));
        EXPECT_TRUE((co_await alice.port().look(0))->entries.empty());
        EXPECT_FALSE(*co_await alice.port().release(held));
    }(h()));
}

TEST_P(StorePortWaiters, ListShowsHoldersAndWaitersInPages) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("b");
        co_await alice.hold("a");
        co_await alice.hold("c");
        co_await bob.ask("b");
        co_await bob.ask("b");
        const auto page = co_await bob.port().list("", 2, 1);
        EXPECT_EQ(page->size(), 2u);
        EXPECT_EQ(page->at(0).name, "a");
        const lock_view& door = page->at(1);
        EXPECT_EQ(door.name, "b");
        EXPECT_EQ(door.holders.size(), 1u);
        EXPECT_EQ(door.holders.at(0).token, held.token);
        EXPECT_EQ(door.holders.at(0).session, alice.id());
        EXPECT_EQ(door.holders.at(0).host, "test-host");
        EXPECT_EQ(door.holders.at(0).label, "peer");
        EXPECT_EQ(door.holders.at(0).pid, 4711);
        EXPECT_EQ(door.waiters.size(), 1u);
        EXPECT_EQ(door.waiter_count, 2u);
        EXPECT_EQ(door.waiters.at(0).session, bob.id());
        const auto rest = co_await bob.port().list("b", 10, 10);
        EXPECT_EQ(rest->size(), 1u);
        EXPECT_EQ(rest->at(0).name, "c");
    }(h()));
}

TEST_P(StorePortLostPush, ALostPushIsFoundByLooking) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        co_await bob.ask("door");
        // That push must not be the one that is lost.
        EXPECT_TRUE(co_await alice.hears(store_event::kind::contended, held.id));
        const auto before = co_await bob.port().beat(0);
        harness.lose_pushes(1);
        co_await alice.port().release(held);
        EXPECT_FALSE(co_await bob.hears(
            store_event::kind::granted, bob.last_id(), std::chrono::milliseconds(20)
        ));
        const auto after = co_await bob.port().beat(0);
        EXPECT_NE(after->changes, before->changes);
        EXPECT_TRUE((co_await bob.port().look(0))->entries.at(0).granted);
    }(h()));
}

TEST_P(StorePortLostReply, ALostReplyIsAnErrorAndAskingAgainTellsTheTruth) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        harness.lose_replies(1);
        const auto lost = co_await alice.ask("door");
        EXPECT_FALSE(lost);
        auto again = co_await alice.ask_again(alice.last_id(), "door");
        // A store that has given up its connection answers so until it has another one.
        for (int i = 0; i < 1'000 && !again && again.error() == errc::store_unavailable; ++i) {
            co_await harness.time()->async_wait_until(
                harness.time()->now() + std::chrono::milliseconds(1)
            );
            again = co_await alice.ask_again(alice.last_id(), "door");
        }
        EXPECT_TRUE(again && again->type == kind::granted);
        EXPECT_EQ((co_await alice.port().look(0))->entries.size(), 1u);
    }(h()));
}

TEST_P(StorePort, TokensGrowOverReleaseExpiryAndEnd) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        std::uint64_t last = 0;
        for (int round = 0; round < 10; ++round) {
            peer alice(harness);
            co_await alice.open();
            for (int i = 0; i < 5; ++i) {
                const grant held = co_await alice.hold("door");
                EXPECT_GT(held.token.value, last);
                EXPECT_LT(held.token.base(), fencing_token::base_end);
                last = held.token.value;
                co_await alice.port().release(held);
            }
            co_await alice.hold(round % 2 ? "door" : "window");
            co_await alice.port().end();
        }
    }(h()));
}

}  // namespace
}  // namespace mortise::test
