// SPDX-License-Identifier: BSL-1.0
// An inbox by offsets that remembers ids besides: a message published again has no effect again.
#include "unit/outbox/inbox_fixture.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::inbox_ids_test {
namespace {

using namespace std::chrono_literals;
using outbox::inbox_config;
using outbox::inbox_event;
using outbox::received;
using texts = std::vector<std::string>;

class OutboxInboxIds : public OutboxInbox {
protected:
    inbox_config by_both() {
        auto result = config();
        result.by = inbox_config::kind::offsets_and_ids;
        return result;
    }
    /// The same message, as it is published another time.
    received again(received received) {
        received.offset = next_++;
        return received;
    }
    void restart(inbox_config how) {
        inbox_.reset();
        session_.reset();
        open();
        start(std::move(how));
    }
    std::int64_t position() {
        return wait_for(inbox_->async_positions(asio::use_future)).at("events-0");
    }
};

TEST_F(OutboxInboxIds, WhatIsPublishedAgainHasNoEffectAgainAndItsPlaceIsPassed) {
    start(by_both());
    const auto one = of("k", "1");
    const auto two = of("k", "2");
    deliver({one, two});
    deliver({again(one), again(two), of("k", "3")});
    EXPECT_EQ(book(), (texts{"1", "2", "3"}));
    EXPECT_EQ(inbox_->stats().repeated, 2u);
    EXPECT_EQ(events(inbox_event::kind::repeated), 2u);
    EXPECT_EQ(position(), 5);
    auto elsewhere = two;
    elsewhere.source = "events-1";
    deliver({elsewhere, elsewhere});
    EXPECT_EQ(inbox_->stats().repeated, 4u);
    restart(by_both());
    deliver({again(two), of("k", "4"), again(one)});
    EXPECT_EQ(book(), (texts{"1", "2", "3", "4"}));
    EXPECT_EQ(inbox_->stats().repeated, 2u);
    EXPECT_EQ(position(), 8);
    // The place counts, too: another id there does not make it new.
    auto other = one;
    other.message.id = "another";
    deliver({other});
    EXPECT_EQ(book().size(), 4u);
}

TEST_F(OutboxInboxIds, WithoutIdsTheSameHasItsEffectAtEachPlace) {
    start();
    const auto one = of("k", "1");
    deliver({one});
    deliver({again(one)});
    EXPECT_EQ(book(), (texts{"1", "1"}));
    EXPECT_EQ(run([](db::connection& on) { return outbox::describe_inboxes(on); }).at(0).ids, 0u);
}

TEST_F(OutboxInboxIds, IdsAreForgottenAfterTheirWindowAndNotBefore) {
    auto how = by_both();
    how.window = 1h;
    start(how);
    const auto one = of("k", "1");
    deliver({one});
    deliver({again(one)});
    EXPECT_EQ(book().size(), 1u);
    run([](db::connection& on) {
        on.run("UPDATE mortise_inbox_seen SET seen = seen - 3600000000 WHERE message_id = 'm0'");
    });
    deliver({of("k", "2")});
    deliver({again(one)});
    EXPECT_EQ(book(), (texts{"1", "2", "1"}));
}

// Nothing else came meanwhile with which it could have been forgotten.
TEST_F(OutboxInboxIds, AnIdIsNewAsSoonAsItsWindowIsOver) {
    for (const auto by : {inbox_config::kind::ids, inbox_config::kind::offsets_and_ids}) {
        auto how = by_both();
        how.by = by;
        how.name = "inbox " + std::to_string(static_cast<int>(by));
        how.window = 1h;
        start(how);
        const auto one = of("k" + how.name, "1");
        deliver({one});
        run([](db::connection& on) {
            on.run("UPDATE mortise_inbox_seen SET seen = seen - 3600000000");
        });
        deliver({again(one), again(one)});
        EXPECT_EQ(book("k" + how.name), (texts{"1", "1"})) << "and known again from then on";
        EXPECT_EQ(inbox_->stats().repeated, 1u);
        inbox_.reset();
    }
}

// It is in the database, and will have its effect from there.
TEST_F(OutboxInboxIds, WhatIsHeldIsKnown) {
    failures_ = 100;
    start(by_both());
    const auto one = of("k", "fails");
    const auto two = of("k", "2");
    deliver({one, two});
    EXPECT_TRUE(eventually([&] { return inbox_->stats().parked == 1; }));
    deliver({again(one), again(two)});
    EXPECT_EQ(held().size(), 2u);
    failures_ = 0;
    run([](db::connection& on) { outbox::replay_all_held(on); });
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == 2; }));
    EXPECT_EQ(book(), (texts{"fails", "2"}));
}

TEST_F(OutboxInboxIds, AnIdAndAPlaceAreRememberedWithTheEffectOrNotAtAll) {
    auto how = by_both();
    how.handler = [this](db::connection& on, const received& received) {
        const auto result = handle(on, received);
        if (received.message.payload == "bad" && failures_-- > 0)
            on.run("COMMIT");
        return result;
    };
    failures_ = 1;
    start(how);
    const auto one = of("k", "1");
    const auto bad = of("bad", "bad");
    deliver({one, bad, again(one), again(bad)});
    EXPECT_TRUE(eventually([&] { return inbox_->stats().handled == 2; }));
    EXPECT_EQ(book(), texts{"1"});
    EXPECT_EQ(book("bad"), texts{"bad"});
    EXPECT_EQ(inbox_->stats().repeated, 2u);
}

// Its topic may be made anew: then another message is at that place.
TEST_F(OutboxInboxIds, AnIdThatWasMadeOfAPlaceIsNotRemembered) {
    start(by_both());
    auto one = of("k", "1");
    one.id_is_place = true;
    deliver({one});
    run([](db::connection& on) { outbox::move_inbox(on, "inbox", "events-0", 0); });
    one.message.payload = "another";
    deliver({one, one});
    EXPECT_EQ(book(), (texts{"1", "another"}));
    EXPECT_EQ(inbox_->stats().repeated, 1u);
}

TEST_F(OutboxInboxIds, WantsAnIdAndAPlace) {
    start(by_both());
    auto wrong = of("k", "1");
    wrong.offset = -1;
    EXPECT_EQ(fault_of({wrong}), outbox::errc::no_position);
    wrong = of("k", "1");
    wrong.message.id.clear();
    EXPECT_EQ(fault_of({of("k", "0"), wrong}), outbox::errc::bad_message_id);
    EXPECT_TRUE(book().empty());
}

}  // namespace
}  // namespace mortise::test::inbox_ids_test
