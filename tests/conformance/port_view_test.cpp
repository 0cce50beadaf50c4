// SPDX-License-Identifier: BSL-1.0
// More tokens for a grant, and what people see and do: inspect, break, watch, examine.
#include "conformance/port_conformance.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace mortise::test {
namespace {

using std::chrono::milliseconds;
using told_kind = store_event::kind;

TEST_P(StorePort, DrawsMoreTokensForAGrantThatIsHeld) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        const grant held = co_await alice.hold("door");
        const grant other = co_await alice.hold("window");
        const auto more = co_await alice.port().draw(held);
        EXPECT_TRUE(more);
        if (!more)
            co_return;
        EXPECT_GT(more->first.value, held.token.value) << "above all of the lock drawn before";
        EXPECT_EQ(more->first.domain, held.token.domain);
        EXPECT_EQ(more->first.value & 1'023, 0u);
        EXPECT_GE(more->count, 1'024u);
        const auto again = co_await alice.port().draw(held);
        EXPECT_GE(again->first.value, more->first.value + more->count);
        // The grant is unchanged.
        EXPECT_EQ((co_await alice.port().look(0))->entries.at(0).token, held.token);
        EXPECT_TRUE(*co_await alice.port().release(held));
        EXPECT_EQ((co_await alice.port().draw(held)).error(), errc::lease_lost);
        const grant later = co_await alice.hold("door");
        EXPECT_GE(later.token.value, again->first.value + again->count) << "and below all later";
        grant forged = other;
        forged.token.value += 1;
        EXPECT_EQ((co_await alice.port().draw(forged)).error(), errc::lease_lost);
        forged = other;
        forged.token.domain = *token_domain::parse("elsewhere");
        EXPECT_EQ((co_await alice.port().draw(forged)).error(), errc::lease_lost);
    }(h()));
}

TEST_P(StorePortModes, DrawsForAPermitInTheDomainOfItsSlotAndForNoReader) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        const grant permit = co_await alice.hold_for("pool", {lock_mode::permits(2)});
        const auto more = co_await alice.port().draw(permit);
        EXPECT_TRUE(more);
        EXPECT_EQ(more->first.domain, permit.token.domain);
        const grant reader = co_await alice.hold_for("door", {lock_mode::shared()});
        EXPECT_EQ((co_await alice.port().draw(reader)).error(), errc::unsupported);
    }(h()));
}

TEST_P(StorePortWaiters, InspectShowsOneLockAsListDoes) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        EXPECT_FALSE((co_await bob.port().inspect("door", 10))->has_value());
        const bool ends = alice.port().traits().hold_max;
        const peer::manner hour{
            lock_mode::exclusive(), ends ? std::chrono::hours(1) : milliseconds::max(), true};
        const grant held = co_await alice.hold_for("door", hour);
        co_await alice.hold("doors");
        co_await bob.ask("door");
        co_await bob.ask("door");
        const auto seen = co_await bob.port().inspect("door", 1);
        EXPECT_TRUE(seen && *seen);
        if (!seen || !*seen)
            co_return;
        const lock_view& door = **seen;
        EXPECT_EQ(door.name, "door");
        EXPECT_EQ(door.holders.size(), 1u);
        EXPECT_EQ(door.holders.at(0).token, held.token);
        EXPECT_EQ(door.holders.at(0).session, alice.id());
        EXPECT_EQ(door.holders.at(0).mode, lock_mode::exclusive());
        EXPECT_EQ(door.holders.at(0).hold_max, hour.hold_max);
        EXPECT_EQ(door.waiters.size(), 1u);
        EXPECT_EQ(door.waiters.at(0).hold_max, milliseconds::max());
        EXPECT_EQ(door.waiter_count, 2u);
    }(h()));
}

TEST_P(StorePortModes, ListShowsModesAndSlots) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        co_await alice.hold_for("pool", {lock_mode::permits(2)});
        const grant second = co_await alice.hold_for("pool", {lock_mode::permits(2)});
        co_await alice.ask_for("pool", {lock_mode::shared()});
        const auto page = co_await alice.port().list("", 10, 10);
        EXPECT_EQ(page->size(), 1u);
        const lock_view& pool = page->at(0);
        EXPECT_EQ(pool.holders.size(), 2u);
        EXPECT_EQ(pool.holders.at(1).mode, lock_mode::permits(2));
        EXPECT_EQ(pool.holders.at(1).slot, 2u);
        EXPECT_EQ(pool.holders.at(1).token, second.token);
        EXPECT_EQ(pool.waiters.at(0).mode, lock_mode::shared());
        EXPECT_EQ(pool.waiters.at(0).slot, 0u);
    }(h()));
}

TEST_P(StorePortShared, BreakingASharedTokenTakesItFromAllWhoShareIt) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        peer carol(harness);
        co_await alice.open();
        co_await bob.open();
        co_await carol.open();
        const grant held = co_await alice.hold_for("door", {lock_mode::shared()});
        co_await bob.hold_for("door", {lock_mode::shared()});
        co_await carol.ask("door");
        EXPECT_TRUE(*co_await carol.break_("door", held.token));
        EXPECT_TRUE(co_await carol.hears(told_kind::granted, carol.last_id()));
        EXPECT_TRUE(co_await alice.hears(told_kind::look_again, 0));
        EXPECT_TRUE(co_await bob.hears(told_kind::look_again, 0));
        EXPECT_TRUE((co_await alice.port().look(0))->entries.empty());
        EXPECT_TRUE((co_await bob.port().look(0))->entries.empty());
    }(h()));
}

TEST_P(StorePortRecords, ABrokenLockIsRecordedAndTheRecordSaysWho) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        EXPECT_TRUE((co_await bob.port().breaks("", 10))->empty());
        const grant door = co_await alice.hold("door");
        const grant window = co_await alice.hold("window");
        EXPECT_TRUE(*co_await bob.break_("door", door.token));
        EXPECT_TRUE(*co_await bob.break_("window", window.token));
        EXPECT_FALSE(*co_await bob.break_("door", door.token)) << "it is nobody's any more";
        const auto all = co_await bob.port().breaks("", 10);
        EXPECT_EQ(all->size(), 2u) << "what broke nothing is not recorded";
        EXPECT_EQ(all->at(0).name, "window") << "the newest first";
        const auto one = co_await alice.port().breaks("door", 10);
        EXPECT_EQ(one->size(), 1u);
        const break_record& record = one->at(0);
        EXPECT_EQ(record.name, "door");
        EXPECT_EQ(record.token, door.token);
        EXPECT_EQ(record.holder, "test-host, process 4711, peer");
        EXPECT_EQ(record.who, "peer");
        EXPECT_EQ(record.why, "a test");
        EXPECT_GT(record.at.time_since_epoch(), std::chrono::hours(24 * 365 * 50)) << "a date";
        EXPECT_EQ((co_await bob.port().breaks("", 1))->size(), 1u);
        EXPECT_TRUE((co_await bob.port().breaks("roof", 10))->empty());
    }(h()));
}

TEST_P(StorePortRecords, TheNextChangeOfAnyLockIsToldOnceToWhoWatches) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        EXPECT_FALSE(bob.has(told_kind::changed)) << "it does not watch yet";
        EXPECT_FALSE(co_await bob.port().watch());
        EXPECT_FALSE(co_await bob.hears(told_kind::changed, 0, milliseconds(20)));
        co_await alice.hold("window");
        EXPECT_TRUE(co_await bob.hears(told_kind::changed, 0));
        co_await alice.port().release(held);
        EXPECT_FALSE(co_await bob.hears(told_kind::changed, 0, milliseconds(20))) << "once";
        EXPECT_FALSE(co_await bob.port().watch());
        co_await bob.hold("roof");
        EXPECT_TRUE(co_await bob.hears(told_kind::changed, 0)) << "by its own doing, too";
    }(h()));
}

TEST_P(StorePortRecords, WhatChangesNoLockIsNotToldToWhoWatches) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        EXPECT_FALSE(co_await bob.port().watch());
        co_await alice.ask("door", false);
        co_await alice.port().beat(0);
        co_await alice.port().look(0);
        co_await alice.port().draw(held);
        co_await alice.port().withdraw("door", 4'711);
        EXPECT_FALSE(co_await bob.hears(told_kind::changed, 0, milliseconds(20)));
        co_await bob.port().beat(0);
        EXPECT_FALSE(co_await bob.hears(told_kind::changed, 0, milliseconds(20)));
    }(h()));
}

TEST_P(StorePortLostChange, AChangeWhosePushIsLostIsFoundByTheNextHeartbeat) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        EXPECT_FALSE(co_await bob.port().watch());
        harness.lose_pushes(1);
        co_await alice.hold("door");
        EXPECT_FALSE(co_await bob.hears(told_kind::changed, 0, milliseconds(20)));
        EXPECT_TRUE(co_await bob.port().beat(0));
        EXPECT_TRUE(co_await bob.hears(told_kind::changed, 0));
    }(h()));
}

TEST_P(StorePort, ExaminesItselfAndSaysWhatItsPromisesRestOn) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        co_await alice.open();
        co_await alice.hold("door");
        const auto found = co_await alice.port().examine();
        EXPECT_TRUE(found);
        if (!found)
            co_return;
        EXPECT_GE(found->size(), 3u);
        std::set<std::string> subjects;
        for (const auto& each : *found) {
            EXPECT_NE(each.judgement, store_finding::verdict::broken) << each.subject << each.found;
            EXPECT_TRUE(subjects.insert(each.subject).second) << each.subject << " twice";
            EXPECT_TRUE(each.found.ends_with('.')) << each.found;
        }
        EXPECT_TRUE(subjects.contains("tokens"));
        EXPECT_EQ(subjects.contains("sessions"), alice.port().traits().sessions);
        EXPECT_EQ((co_await alice.port().look(0))->entries.size(), 1u) << "nothing was changed";
    }(h()));
}

}  // namespace
}  // namespace mortise::test
