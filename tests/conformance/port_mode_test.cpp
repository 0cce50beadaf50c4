// SPDX-License-Identifier: BSL-1.0
// Modes, ends and contention, as a store shows them at its port.
#include "conformance/port_conformance.hpp"
#include "mortise/options.hpp"

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using kind = answer::kind;
using std::chrono::milliseconds;
using told_kind = store_event::kind;

constexpr auto endless = milliseconds::max();

constexpr peer::manner sharing{lock_mode::shared(), milliseconds::max(), true};

constexpr peer::manner one_of(std::uint32_t capacity) {
    return {lock_mode::permits(capacity), milliseconds::max(), true};
}

// Sends heartbeats when the store asks for them, until the event comes.
asio::awaitable<bool> beats_until_told(
    store_harness& harness, peer& who, told_kind type, request_id id, clock::duration limit
) {
    const auto end = harness.time()->now() + limit;
    while (harness.time()->now() < end) {
        const auto beat = co_await who.port().beat(0);
        EXPECT_TRUE(beat);
        if (!beat)
            co_return false;
        const auto pause = std::min<clock::duration>(
            {beat->next_deadline.value_or(harness.ttl() / 3),
             harness.ttl() / 3,
             end - harness.time()->now()}
        );
        if (co_await who.hears(type, id, std::max<clock::duration>(pause, milliseconds(1))))
            co_return true;
    }
    co_return false;
}

TEST_P(StorePortShared, ReadersShareTheLockAndItsToken) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant first = co_await alice.hold_for("door", sharing);
        const grant second = co_await bob.hold_for("door", sharing);
        EXPECT_EQ(first.token, second.token);
        EXPECT_TRUE(*co_await alice.port().release(first));
        const grant third = co_await alice.hold_for("door", sharing);
        EXPECT_EQ(third.token, first.token) << "the phase has not ended";
        EXPECT_FALSE(*co_await alice.port().release(first)) << "another grant with the same token";
        co_await alice.port().release(third);
        co_await bob.port().release(second);
        const grant writer = co_await bob.hold("door");
        EXPECT_GT(writer.token.value, first.token.value);
        EXPECT_EQ(writer.token.domain, first.token.domain);
    }(h()));
}

TEST_P(StorePortShared, AWriterWaitsForReadersAndStopsThoseWhoComeLater) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        peer carol(harness);
        co_await alice.open();
        co_await bob.open();
        co_await carol.open();
        const grant reads = co_await alice.hold_for("door", sharing);
        EXPECT_EQ((co_await bob.ask("door"))->type, kind::queued);
        const request_id writes = bob.last_id();
        EXPECT_EQ((co_await carol.ask_for("door", sharing))->type, kind::queued);
        const request_id later = carol.last_id();
        EXPECT_EQ((co_await alice.ask_for("door", sharing))->type, kind::queued);
        const request_id last = alice.last_id();
        co_await alice.port().release(reads);
        EXPECT_TRUE(co_await bob.hears(told_kind::granted, writes));
        grant held;
        held.id = writes;
        held.name = "door";
        held.token = bob.heard_token();
        EXPECT_GT(held.token.value, reads.token.value);
        EXPECT_TRUE(bob.last_heard().contended);
        co_await bob.port().release(held);
        EXPECT_TRUE(co_await carol.hears(told_kind::granted, later));
        EXPECT_TRUE(co_await alice.hears(told_kind::granted, last));
        EXPECT_EQ(carol.heard_token(), alice.heard_token());
        EXPECT_GT(alice.heard_token().value, held.token.value);
    }(h()));
}

TEST_P(StorePortPermits, PermitsHaveSlotsWithDomainsOfTheirOwn) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        const resumed opened = co_await alice.open();
        co_await bob.open();
        const auto reply = co_await alice.ask_for("pool", one_of(2));
        EXPECT_EQ(reply->slot, 1u);
        grant first;
        first.id = alice.last_id();
        first.name = "pool";
        first.token = reply->token;
        EXPECT_EQ(first.token.domain, opened.domain.of_slot(1));
        const grant second = co_await bob.hold_for("pool", one_of(2));
        EXPECT_EQ(second.token.domain, opened.domain.of_slot(2));
        EXPECT_GT(second.token.value, first.token.value);
        EXPECT_EQ((co_await bob.ask_for("pool", one_of(2)))->type, kind::queued);
        const request_id waits = bob.last_id();

        grant forged = first;
        forged.token.domain = second.token.domain;
        EXPECT_FALSE(*co_await alice.port().release(forged)) << "the domain is compared";
        forged.token.domain = opened.domain;
        EXPECT_FALSE(*co_await alice.port().release(forged));
        EXPECT_TRUE(*co_await alice.port().release(first));
        EXPECT_TRUE(co_await bob.hears(told_kind::granted, waits));
        EXPECT_EQ(bob.last_heard().slot, 1u) << "the lowest that is free";
        EXPECT_EQ(bob.heard_token().domain, first.token.domain);
        EXPECT_GT(bob.heard_token().value, second.token.value);
        const auto view = co_await bob.port().look(0);
        EXPECT_EQ(view->entries.at(1).slot, 1u);
        EXPECT_EQ(view->entries.at(1).token, bob.heard_token());
    }(h()));
}

TEST_P(StorePortPermits, AnotherNumberOfPermitsIsRefused) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold_for("pool", one_of(2));
        const auto refused = co_await bob.ask_for("pool", one_of(3));
        EXPECT_EQ(refused.error(), errc::capacity_differs);
        EXPECT_TRUE((co_await bob.port().look(0))->entries.empty());
        EXPECT_EQ((co_await bob.ask_for("pool", one_of(0))).error(), errc::bad_mode);
        const auto too_many = co_await bob.ask_for("pool", one_of(lock_mode::capacity_max + 1));
        EXPECT_EQ(too_many.error(), errc::bad_mode);
        co_await alice.port().release(held);
        co_await bob.hold_for("pool", one_of(3));
    }(h()));
}

TEST_P(StorePortHoldMax, AGrantEndsByItselfAndTheNextIsGranted) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const auto limit = harness.ttl() / 4;
        const auto start = harness.time()->now();
        const grant held = co_await alice.hold_for("door", {lock_mode::exclusive(), limit, true});
        const auto granted_by = harness.time()->now();
        co_await bob.ask("door");
        const request_id waits = bob.last_id();
        const auto before = co_await alice.port().beat(0);
        const auto beat = co_await bob.port().beat(0);
        EXPECT_TRUE(beat->next_deadline);
        EXPECT_LE(*beat->next_deadline, limit) << "it counts as a deadline of another session";
        EXPECT_TRUE(
            co_await beats_until_told(harness, bob, told_kind::granted, waits, harness.ttl())
        );
        EXPECT_GE(harness.time()->now() - start, limit);
        EXPECT_LE(granted_by, harness.time()->now());
        EXPECT_GT(bob.heard_token().value, held.token.value);
        // Alice's session lives, and is told that its grant is gone.
        EXPECT_TRUE(co_await alice.hears(told_kind::look_again, 0));
        const auto after = co_await alice.port().beat(0);
        EXPECT_TRUE(after);
        EXPECT_GT(after->changes, before->changes);
        EXPECT_TRUE(alice.has_counted(*after, 0, 0));
        EXPECT_FALSE(*co_await alice.port().release(held));
        EXPECT_EQ((co_await alice.port().draw(held)).error(), errc::lease_lost);
    }(h()));
}

TEST_P(StorePortHoldMax, ATryThatMeetsAGrantWhichHasEndedGetsTheLock) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const auto limit = harness.ttl() / 4;
        co_await alice.hold_for("door", {lock_mode::exclusive(), limit, true});
        const auto refused = co_await bob.ask("door", false);
        EXPECT_EQ(refused->type, kind::refused);
        co_await harness.time()->async_wait_until(harness.time()->now() + limit);
        const auto granted = co_await bob.ask("door", false);
        EXPECT_EQ(granted->type, kind::granted);
    }(h()));
}

TEST_P(StorePortHoldMax, TheNearestOfSeveralEndsCounts) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const auto ttl = harness.ttl();
        const peer::manner later{lock_mode::exclusive(), ttl / 2, true};
        const peer::manner sooner{lock_mode::exclusive(), ttl / 4, true};
        const machine_delay delay;
        co_await alice.hold_for("a", later);
        const grant near = co_await alice.hold_for("b", sooner);
        EXPECT_LE(*(co_await bob.port().beat(0))->next_deadline, ttl / 4);
        co_await alice.port().release(near);
        const auto left = *(co_await bob.port().beat(0))->next_deadline;
        EXPECT_GT(left + harness.lateness(delay), ttl / 4) << "that one is released";
        EXPECT_LE(left, ttl / 2);
        // A session's own grants do not set its next deadline.
        const auto own = *(co_await alice.port().beat(0))->next_deadline;
        EXPECT_GT(own + harness.lateness(delay), ttl / 2);
    }(h()));
}

TEST_P(StorePortExtend, AnExtendedGrantOutlivesItsFirstEnd) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness, std::chrono::seconds(30));  // no session ends before the grant
        peer bob(harness, std::chrono::seconds(30));
        co_await alice.open();
        co_await bob.open();
        const milliseconds limit = harness.ttl() / 4;
        const peer::manner brief{lock_mode::exclusive(), limit, true};
        const grant held = co_await alice.hold_for("door", brief);
        const auto kept = co_await alice.port().extend(held, std::chrono::hours(1));
        EXPECT_GE(kept.value(), std::chrono::hours(1));
        EXPECT_LT(kept.value(), std::chrono::hours(2)) << "counted from the grant";
        const auto view = co_await alice.port().look(0);
        EXPECT_EQ(view->entries.at(0).hold_max, *kept);
        co_await bob.ask("door");
        const request_id waits = bob.last_id();
        EXPECT_FALSE(
            co_await beats_until_told(harness, bob, told_kind::granted, waits, limit + limit / 2)
        );
        EXPECT_TRUE(co_await alice.port().beat(0));
        EXPECT_TRUE(*co_await alice.port().release(held));
        EXPECT_TRUE(co_await bob.hears(told_kind::granted, waits));
    }(h()));
}

TEST_P(StorePortExtend, AShortenedGrantEndsSooner) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const milliseconds limit = harness.ttl() / 4;
        const peer::manner hour{lock_mode::exclusive(), std::chrono::hours(1), true};
        const grant held = co_await alice.hold_for("door", hour);
        co_await bob.ask("door");
        const request_id waits = bob.last_id();
        const auto start = harness.time()->now();
        const auto kept = co_await alice.port().extend(held, limit);
        EXPECT_GE(kept.value(), limit);
        EXPECT_LE((co_await bob.port().beat(0))->next_deadline, limit + milliseconds(1));
        EXPECT_TRUE(
            co_await beats_until_told(harness, bob, told_kind::granted, waits, harness.ttl())
        );
        EXPECT_GE(harness.time()->now() - start, limit);
        EXPECT_GT(bob.heard_token().value, held.token.value);
        const auto late = co_await alice.port().extend(held, limit);
        EXPECT_EQ(late.error(), errc::lease_lost);
    }(h()));
}

TEST_P(StorePortExtend, TheEndCanBeTakenAwayAndGivenBack) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness, std::chrono::seconds(30));
        peer bob(harness, std::chrono::seconds(30));
        co_await alice.open();
        co_await bob.open();
        const milliseconds limit = harness.ttl() / 4;
        const peer::manner brief{lock_mode::exclusive(), limit, true};
        const grant held = co_await alice.hold_for("door", brief);
        EXPECT_EQ((co_await alice.port().extend(held, milliseconds::max())).value(), endless);
        const auto view = co_await alice.port().look(0);
        EXPECT_EQ(view->entries.at(0).hold_max, endless);
        co_await bob.ask("door");
        const request_id waits = bob.last_id();
        EXPECT_FALSE(
            co_await beats_until_told(harness, bob, told_kind::granted, waits, limit + limit / 2)
        );
        EXPECT_TRUE(co_await alice.port().beat(0));
        EXPECT_GE((co_await alice.port().extend(held, limit)).value(), limit * 2);
        EXPECT_TRUE(
            co_await beats_until_told(harness, bob, told_kind::granted, waits, harness.ttl())
        );
    }(h()));
}

TEST_P(StorePortExtend, TheLongestTimeIsNotTooLong) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const peer::manner hour{lock_mode::exclusive(), std::chrono::hours(1), true};
        const grant held = co_await alice.hold_for("door", hour);
        co_await harness.time()->async_wait_until(harness.time()->now() + milliseconds(5));
        const auto kept = co_await alice.port().extend(held, duration_max);
        EXPECT_GT(kept.value(), duration_max);
        const auto view = co_await alice.port().look(0);
        EXPECT_EQ(view->entries.at(0).hold_max, *kept);
        const auto seen = co_await bob.port().inspect("door", 1);
        EXPECT_EQ((*seen)->holders.size(), 1u);
        EXPECT_EQ((co_await bob.ask("door", false))->type, kind::refused);
        EXPECT_TRUE(co_await alice.port().beat(0));
        EXPECT_TRUE(*co_await alice.port().release(held));
        EXPECT_EQ((co_await bob.ask("door", false))->type, kind::granted);
    }(h()));
}

TEST_P(StorePortExtend, NothingButTheGrantIsExtended) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const peer::manner hour{lock_mode::exclusive(), std::chrono::hours(1), true};
        const grant held = co_await alice.hold_for("door", hour);
        co_await bob.ask_for("door", hour);
        grant waiting = held;
        waiting.id = bob.last_id();
        EXPECT_EQ((co_await bob.port().extend(waiting, milliseconds(9))).error(), errc::lease_lost);
        EXPECT_EQ((co_await bob.port().extend(held, milliseconds(9))).error(), errc::lease_lost);
        grant other = held;
        other.token.value += std::uint64_t{1} << fencing_token::sequence_bits;
        EXPECT_EQ((co_await alice.port().extend(other, milliseconds(9))).error(), errc::lease_lost);
        EXPECT_TRUE(*co_await alice.port().release(held));
        EXPECT_EQ((co_await alice.port().extend(held, milliseconds(9))).error(), errc::lease_lost);
    }(h()));
}

TEST_P(StorePortExtend, OneOfManyHoldersIsExtended) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        constexpr std::uint32_t many = 30;
        peer alice(harness, std::chrono::seconds(30));
        peer bob(harness, std::chrono::seconds(30));
        co_await alice.open();
        co_await bob.open();
        const peer::manner hour{lock_mode::permits(many), std::chrono::hours(1), true};
        std::vector<grant> held;
        for (std::uint32_t i = 0; i < many; ++i)
            held.push_back(co_await alice.hold_for("pool", hour));
        co_await bob.ask_for("pool", hour);
        const request_id waits = bob.last_id();
        const milliseconds limit = harness.ttl() / 4;
        EXPECT_GE((co_await alice.port().extend(held[7], limit)).value(), limit);
        EXPECT_TRUE(
            co_await beats_until_told(harness, bob, told_kind::granted, waits, harness.ttl())
        );
        EXPECT_EQ(bob.last_heard().slot, 8u);
        EXPECT_TRUE(co_await alice.port().beat(0));
        EXPECT_EQ((co_await alice.port().extend(held[7], limit)).error(), errc::lease_lost);
        EXPECT_GE((co_await alice.port().extend(held[8], limit)).value(), limit);
    }(h()));
}

TEST_P(StorePortLostPush, TheHolderLearnsOfAWaiterEvenIfThePushIsLost) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        EXPECT_FALSE((co_await alice.port().look(0))->entries.at(0).contended);
        const auto before = co_await alice.port().beat(0);
        harness.lose_pushes(1);
        co_await bob.ask("door");
        EXPECT_FALSE(co_await alice.hears(told_kind::contended, held.id, milliseconds(20)));
        const auto after = co_await alice.port().beat(0);
        EXPECT_NE(after->changes, before->changes);
        EXPECT_TRUE((co_await alice.port().look(0))->entries.at(0).contended);
    }(h()));
}

TEST_P(StorePortPush, ATryInVainTellsTheHolder) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        EXPECT_EQ((co_await alice.ask("door", false))->type, kind::refused);
        EXPECT_FALSE(co_await alice.hears(told_kind::contended, held.id, milliseconds(20)))
            << "its own try";
        EXPECT_EQ((co_await bob.ask("door", false))->type, kind::refused);
        EXPECT_TRUE(co_await alice.hears(told_kind::contended, held.id));
        EXPECT_TRUE(alice.last_heard().contended);
        EXPECT_EQ(alice.heard_token(), held.token);
    }(h()));
}

TEST_P(StorePortFair, AnswersAndGrantsSayWhetherOthersWait) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        co_await alice.open();
        co_await bob.open();
        const grant held = co_await alice.hold("door");
        EXPECT_FALSE((co_await bob.ask("door"))->contended);
        const request_id first = bob.last_id();
        EXPECT_TRUE((co_await alice.ask("door"))->contended);
        const request_id second = alice.last_id();
        EXPECT_TRUE((co_await alice.ask_again(held.id, "door"))->contended);
        co_await alice.port().release(held);
        EXPECT_TRUE(co_await bob.hears(told_kind::granted, first));
        if (!bob.last_heard().contended && harness.pushes_are_hints()) {
            EXPECT_TRUE(co_await bob.hears(told_kind::contended, first));
        }
        EXPECT_TRUE(bob.last_heard().contended);
        grant next;
        next.id = first;
        next.name = "door";
        next.token = bob.heard_token();
        co_await bob.port().release(next);
        EXPECT_TRUE(co_await alice.hears(told_kind::granted, second));
        EXPECT_FALSE(alice.last_heard().contended);
    }(h()));
}

TEST_P(StorePortFair, ReadersThatAreGrantedTogetherDoNotWaitForOneAnother) {
    h().run([](store_harness& harness) -> asio::awaitable<void> {
        peer alice(harness);
        peer bob(harness);
        peer carol(harness);
        peer* const readers[] = {&bob, &carol};
        co_await alice.open();
        const grant held = co_await alice.hold("book");
        const peer::manner reads{lock_mode::shared()};
        for (auto* const each : readers) {
            co_await each->open();
            EXPECT_EQ((co_await each->ask_for("book", reads))->type, kind::queued);
        }
        EXPECT_EQ((co_await bob.port().look(0))->entries.size(), 1u) << "knows of carol";
        co_await alice.port().release(held);
        for (auto* const each : readers) {
            EXPECT_TRUE(co_await each->hears(told_kind::granted, each->last_id()));
            EXPECT_FALSE(each->last_heard().contended);
            EXPECT_FALSE(
                co_await each->hears(told_kind::contended, each->last_id(), milliseconds(20))
            );
        }
    }(h()));
}

}  // namespace
}  // namespace mortise::test
