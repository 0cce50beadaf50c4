// SPDX-License-Identifier: BSL-1.0
// What can never be sent.
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/operate.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace mortise::test::outbox_parked_test {
namespace {

using outbox::message;
using outbox::relay_event;
using outbox::row_kind;
using texts = std::vector<std::string>;

class OutboxParked : public outbox_world {};

TEST_F(OutboxParked, ParksPoisonWithWhatHasItsKey) {
    cluster_.refuse("poison");
    append("k", "1");
    append("k", "poison");
    append("k", "2");
    append("other", "3");
    start();
    drain();
    append("k", "4");
    drain();
    EXPECT_EQ(cluster_.payloads_of("k"), texts{"1"});
    EXPECT_EQ(cluster_.payloads_of("other"), texts{"3"});
    const auto parked = list(row_kind::parked);
    ASSERT_EQ(parked.size(), 3u);
    EXPECT_EQ(parked[0].message.payload, "poison");
    EXPECT_TRUE(parked[0].reason);
    EXPECT_FALSE(parked[1].reason);
    EXPECT_EQ(parked[2].message.payload, "4");
    EXPECT_EQ(events(relay_event::kind::parked), 1u);
}

TEST_F(OutboxParked, ReplaysInOrderWhatWasParked) {
    cluster_.refuse("poison");
    for (const char* each : {"1", "poison", "2", "3"})
        append("k", each);
    start();
    drain();
    cluster_.refuse(std::nullopt);
    const auto row = list(row_kind::parked).at(0).row;
    EXPECT_EQ(run([row](db::connection& on) { return outbox::replay(on, row); }), 3u);
    append("k", "4");
    drain();
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"1", "poison", "2", "3", "4"}));
    std::set<std::string> ids;
    for (const auto& each : cluster_.messages())
        ids.insert(each.message.id);
    EXPECT_EQ(ids.size(), 5u);
    EXPECT_TRUE(list(row_kind::parked).empty());
}

TEST_F(OutboxParked, ReplaysInPortionsOfWholeKeys) {
    cluster_.refuse("poison");
    for (const char* key : {"a", "b", "c"}) {
        append(key, "poison");
        append(key, "1");
    }
    outbox::message alone("events", std::nullopt, "poison");
    append(alone);
    start();
    drain();
    stop();
    for (const char* key : {"a", "b", "c"})
        append(key, "2");
    cluster_.refuse(std::nullopt);
    ASSERT_EQ(list(row_kind::parked).size(), 7u);
    const auto portion = [](db::connection& on) { return outbox::replay_some(on, 1); };
    EXPECT_EQ(run(portion), 3u);
    EXPECT_EQ(list(row_kind::parked).size(), 5u) << "of the other keys nothing is touched";
    start();
    drain();
    EXPECT_EQ(cluster_.payloads_of("a"), (texts{"poison", "1", "2"}));
    EXPECT_TRUE(cluster_.payloads_of("b").empty());
    std::size_t again = 0;
    while (const auto moved = run(portion))
        again += moved;
    EXPECT_EQ(again, 7u);
    drain();
    for (const char* key : {"a", "b", "c"})
        EXPECT_EQ(cluster_.payloads_of(key), (texts{"poison", "1", "2"})) << key;
    EXPECT_EQ(cluster_.size(), 10u);
}

TEST_F(OutboxParked, ReplaysWhatNoRelayHasComeToAsWell) {
    cluster_.refuse("poison");
    append("k", "poison");
    start();
    drain();
    stop();
    append("k", "2");
    append("k", "3");
    cluster_.refuse(std::nullopt);
    EXPECT_EQ(run([](db::connection& on) { return outbox::replay_all(on); }), 3u);
    start();
    drain();
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"poison", "2", "3"}));
}

TEST_F(OutboxParked, SendsTheRestWhenPoisonIsGivenUp) {
    cluster_.refuse("poison");
    for (const char* each : {"1", "poison", "2", "3"})
        append("k", each);
    start();
    drain();
    const auto row = list(row_kind::parked).at(0).row;
    EXPECT_EQ(run([row](db::connection& on) { return outbox::drop(on, row); }), 2u);
    drain();
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"1", "2", "3"}));
}

TEST_F(OutboxParked, ParksARowThatCannotBeRead) {
    append("k", "1");
    message event("events", "k", "2");
    event.headers.emplace_back("a", "b");
    append(event);
    append("k", "3");
    run([](db::connection& on) {
        on.run("UPDATE mortise_outbox SET headers = x'0102' WHERE headers IS NOT NULL");
    });
    start();
    drain();
    EXPECT_EQ(cluster_.payloads(), texts{"1"});
    const auto parked = list(row_kind::parked);
    ASSERT_EQ(parked.size(), 2u);
    EXPECT_TRUE(parked[0].corrupt);
    EXPECT_EQ(parked[0].message.key, "k");
    EXPECT_EQ(parked[0].message.payload, "2");
}

TEST_F(OutboxParked, OnlyWhatIsParkedCanBeReplayedOrGivenUp) {
    append("k", "1");
    for (const auto operate : {&outbox::replay, &outbox::drop}) {
        auto trying = session_->async_run(
            [operate](db::connection& on) { return operate(on, 1); },
            db::durability::force,
            asio::use_future
        );
        try {
            trying.get();
            ADD_FAILURE() << "it did something";
        } catch (const boost::system::system_error& refused) {
            EXPECT_EQ(refused.code(), outbox::errc::no_such_row);
        }
    }
}

}  // namespace
}  // namespace mortise::test::outbox_parked_test
