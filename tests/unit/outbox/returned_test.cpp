// SPDX-License-Identifier: BSL-1.0
// Messages whose topic is away: all else goes on, and they are sent by themselves when it is back.
#include "mortise/outbox/operate.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace mortise::test::outbox_returned_test {
namespace {

using namespace std::chrono_literals;
using outbox::message;
using outbox::relay_event;
using outbox::row_kind;
using texts = std::vector<std::string>;

class OutboxReturned : public outbox_world {
protected:
    static constexpr const char* topic = "events";

    void start_looking_every(std::chrono::milliseconds span) {
        auto how = config();
        how.topic_look_every = span;
        start(how);
    }
    std::size_t parked() { return list(row_kind::parked).size(); }
};

TEST_F(OutboxReturned, AreSentInOrderWhenTheirTopicIsBackAndAllElseGoesOnMeanwhile) {
    cluster_.set_away(topic);
    for (const char* each : {"1", "2"})
        append("k", each);
    append(message("sales", "k", "of another topic"));
    append(message(topic, std::nullopt, "without a key"));
    start_looking_every(10ms);
    drain();
    EXPECT_EQ(cluster_.payloads(), texts{"of another topic"});
    append("k", "3");
    append("other", "4");
    drain();
    ASSERT_EQ(parked(), 5u);
    EXPECT_NE(
        list(row_kind::parked)[0].reason.value().find("no such topic; sent when"), std::string::npos
    );
    EXPECT_TRUE(eventually([&] { return cluster_.asked() > 2; }));
    EXPECT_EQ(parked(), 5u) << "it was not there";
    cluster_.set_away(topic, false);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 6; }));
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"of another topic", "1", "2", "3"}));
    EXPECT_EQ(parked(), 0u);
    EXPECT_GE(events(relay_event::kind::returned), 1u);
    // Nobody looks for it any longer.
    EXPECT_TRUE(eventually([&] {
        const auto asked = cluster_.asked();
        eventually([] { return false; }, 50ms);
        return asked == cluster_.asked();
    }));
    append("k", "5");
    drain();
    EXPECT_EQ(cluster_.payloads_of("k").back(), "5");
}

TEST_F(OutboxReturned, AreFoundByTheNextRelayWhenItOpensTheShard) {
    cluster_.set_away(topic);
    append("k", "1");
    start();
    drain();
    EXPECT_EQ(parked(), 1u);
    stop();
    append("k", "2");
    cluster_.set_away(topic, false);
    start_looking_every(1h);
    drain();
    EXPECT_EQ(cluster_.payloads_of("k"), (texts{"1", "2"}));
}

TEST_F(OutboxReturned, StayBehindAMessageOfTheirKeyThatCanNeverBeSent) {
    cluster_.set_away(topic);
    cluster_.refuse("poison");
    append("k", "poison");
    append("k", "1");
    append("other", "2");
    start_looking_every(10ms);
    EXPECT_TRUE(eventually([&] { return parked() == 3; }));
    cluster_.set_away(topic, false);
    EXPECT_TRUE(eventually([&] { return cluster_.payloads_of("other") == texts{"2"}; }));
    const auto asked = cluster_.asked();
    EXPECT_TRUE(eventually([&] { return cluster_.asked() > asked + 2; }));
    EXPECT_TRUE(cluster_.payloads_of("k").empty());
    const auto row = list(row_kind::parked).at(0).row;
    EXPECT_EQ(run([row](db::connection& on) { return outbox::drop(on, row); }), 1u);
    drain();
    EXPECT_EQ(cluster_.payloads_of("k"), texts{"1"});
}

TEST_F(OutboxReturned, AreTriedAgainTogetherWithOneThatIsRefusedBehindThem) {
    cluster_.set_away(topic);
    append("k", "1");
    append("k", "poison");
    append("k", "2");
    start_looking_every(10ms);
    drain();
    EXPECT_EQ(parked(), 3u);
    cluster_.refuse("poison");
    cluster_.set_away(topic, false);
    EXPECT_TRUE(eventually([&] { return cluster_.payloads_of("k") == texts{"1"}; }));
    EXPECT_TRUE(eventually([&] { return parked() == 2; }));
    EXPECT_EQ(list(row_kind::parked).at(0).message.payload, "poison");
}

TEST_F(OutboxReturned, OfAnEarlierNumberOfShardsAreSentBeforeWhatCameLater) {
    constexpr int keys = 10;
    cluster_.set_away(topic);
    for (int key = 0; key < keys; ++key)
        append(std::to_string(key), "1");
    start();
    drain();
    EXPECT_EQ(parked(), static_cast<std::size_t>(keys));
    run([](db::connection& on) { outbox::reshard(on, 3); });
    for (int key = 0; key < keys; ++key)
        append(std::to_string(key), "2");
    drain();
    EXPECT_EQ(parked(), 2u * keys);
    stop();
    for (int key = 0; key < keys; ++key)
        append(std::to_string(key), "3");
    cluster_.set_away(topic, false);
    start_looking_every(10ms);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == 3u * keys; }));
    for (int key = 0; key < keys; ++key)
        EXPECT_EQ(cluster_.payloads_of(std::to_string(key)), (texts{"1", "2", "3"})) << key;
    EXPECT_EQ(parked(), 0u);
}

TEST_F(OutboxReturned, GoInPortionsAndEachKeyInOrder) {
    constexpr int keys = 250;
    constexpr int rounds = 6;
    cluster_.set_away(topic);
    run([](db::connection& on) {
        outbox::reshard(on, 1);
        for (int round = 0; round < rounds; ++round)
            for (int key = 0; key < keys; ++key)
                outbox::append(on, message(topic, std::to_string(key), std::to_string(round)));
    });
    start_looking_every(10ms);
    EXPECT_TRUE(eventually([&] { return describe().parked == keys * rounds; }));
    cluster_.set_away(topic, false);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == keys * rounds; }));
    for (int key = 0; key < keys; ++key)
        EXPECT_EQ(cluster_.payloads_of(std::to_string(key)), (texts{"0", "1", "2", "3", "4", "5"}))
            << key;
}

// All at once they would hold up the writers, and what the shard has to send, for too long.
TEST_F(OutboxReturned, TheShardSendsBetweenTwoPortions) {
    constexpr int rows = 3'500;  // of a thousand, four portions
    cluster_.set_away(topic);
    run([](db::connection& on) {
        outbox::reshard(on, 1);
        for (int key = 0; key < rows; ++key)
            outbox::append(on, message(topic, std::to_string(key), "1"));
    });
    start_looking_every(10ms);
    EXPECT_TRUE(eventually([&] { return describe().parked == rows; }));
    const auto before = cluster_.batches();
    cluster_.set_away(topic, false);
    EXPECT_TRUE(eventually([&] { return cluster_.size() == rows; }));
    EXPECT_GE(cluster_.batches() - before, 4u);
    EXPECT_EQ(events(relay_event::kind::returned), 1u);
    EXPECT_EQ(describe().parked, 0u);
}

}  // namespace
}  // namespace mortise::test::outbox_returned_test
