// SPDX-License-Identifier: BSL-1.0
// From the transaction of the business to a consumer of Kafka: each message once, and in order.
#include "mortise/kafka/kafka_sink.hpp"
#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mortise::test::kafka_relay_test {
namespace {

using namespace std::chrono_literals;
using outbox::message;
using outbox::relay_event;
using texts = std::vector<std::string>;

class KafkaRelay : public outbox_world {
protected:
    explicit KafkaRelay(kafka_broker& broker) : broker_(broker) { broker_.create_topic(topic_, 3); }
    KafkaRelay() : KafkaRelay(shared_kafka()) {}

    outbox::relay_config to_kafka() {
        kafka::kafka_sink_config sink((kafka::kafka_config(broker_.address())));
        sink.cluster.settings = {
            {"linger.ms", "0"},
            {"reconnect.backoff.ms", "20"},
            {"reconnect.backoff.max.ms", "100"},
            {"message.timeout.ms", "3000"}};
        sink.progress_topic = progress_;
        sink.progress_partitions = 1;
        outbox::relay_config settings = config();
        settings.sink = kafka::make_kafka_sink(sink);
        settings.batch_rows = 50;
        settings.retry_max = 200ms;
        return settings;
    }

    /// A transaction with one message for each key.
    void append_round(int keys) {
        ++rounds_;
        run([this, keys](db::connection& on) {
            for (int key = 0; key < keys; ++key)
                outbox::append(on, message(topic_, std::to_string(key), std::to_string(rounds_)));
        });
    }
    void drain_at_leisure() {
        auto drained = site_.relay->async_drained(asio::use_future);
        ASSERT_EQ(drained.wait_for(90s), std::future_status::ready);
        drained.get();
    }

    void expect_exactly_once(int keys) const {
        texts wanted;
        for (int round = 1; round <= rounds_; ++round)
            wanted.push_back(std::to_string(round));
        std::map<std::string, texts> of_key;
        std::set<std::string> ids;
        const auto records = kafka_reader(broker_.address()).read_settled(topic_);
        for (const kafka_seen& each : records) {
            of_key[each.key.value()].push_back(each.value.value());
            ids.insert(each.headers.back().second.value());
        }
        EXPECT_EQ(records.size(), ids.size());
        EXPECT_EQ(of_key.size(), static_cast<std::size_t>(keys));
        for (const auto& [key, values] : of_key)
            EXPECT_EQ(values, wanted) << key;
    }

    kafka_broker& broker_;
    const std::string topic_ = fresh_name("topic");
    const std::string progress_ = fresh_name("progress");
    int rounds_ = 0;
};

TEST_F(KafkaRelay, EveryMessageArrivesOnceAndThoseOfAKeyInOrder) {
    start(to_kafka());
    for (int i = 0; i < 20; ++i)
        append_round(10);
    drain_at_leisure();
    expect_exactly_once(10);
    // The next relay goes on where this one stopped.
    stop();
    append_round(10);
    start(to_kafka());
    append_round(10);
    drain_at_leisure();
    expect_exactly_once(10);
    EXPECT_EQ(events(relay_event::kind::mark_lost), 0u);
}

TEST_F(KafkaRelay, AMessageThatCanNeverArriveIsPutAside) {
    start(to_kafka());
    append_round(3);
    append(message(topic_, "huge", std::string(2'000'000, 'x')));
    append(message(fresh_name("missing"), "key", "value"));
    append_round(3);
    drain_at_leisure();
    expect_exactly_once(3);
    const auto parked = list(outbox::row_kind::parked);
    ASSERT_EQ(parked.size(), 2u);
    EXPECT_NE(parked[0].reason.value().find("too large"), std::string::npos);
    EXPECT_NE(parked[1].reason.value().find("Unknown topic"), std::string::npos);
}

// The broker sets the limit: one byte above it a message is parked, one byte below it arrives.
TEST_F(KafkaRelay, MessagesOfNoByteAndOfTheLimitArriveAndLongerOnesAreParked) {
    constexpr std::size_t first = 1'780;
    constexpr std::size_t limit = 2'000;
    const auto narrow = fresh_name("narrow");
    broker_.create_topic(narrow, 1, {{"max.message.bytes", std::to_string(limit)}});
    std::vector<std::size_t> sizes{0};
    for (std::size_t size = first; size <= limit; size += 10)
        sizes.push_back(size);
    run([&](db::connection& on) {
        for (const auto size : sizes)
            outbox::append(on, message(narrow, std::to_string(size), std::string(size, 'x')));
        outbox::append(on, message(narrow, "none", std::nullopt));
    });
    start(to_kafka());
    drain_at_leisure();
    std::set<std::size_t> arrived;
    std::size_t tombstones = 0;
    for (const auto& each : kafka_reader(broker_.address()).read_settled(narrow)) {
        if (each.value)
            EXPECT_TRUE(arrived.insert(each.value->size()).second) << each.value->size();
        else
            ++tombstones;
    }
    EXPECT_EQ(tombstones, 1u);
    std::set<std::size_t> parked;
    for (const auto& each : list(outbox::row_kind::parked))
        parked.insert(each.message.payload.value().size());
    ASSERT_FALSE(parked.empty());
    EXPECT_EQ(arrived.size() + parked.size(), sizes.size());
    EXPECT_EQ(*arrived.begin(), 0u);
    EXPECT_GE(*arrived.rbegin(), first) << "what the broker takes was parked";
    EXPECT_EQ(*parked.begin(), *arrived.rbegin() + 10);
    EXPECT_EQ(*parked.rbegin(), limit);
}

TEST_F(KafkaRelay, OneThatWasOvertakenWhileItSleptPublishesNothing) {
    start(to_kafka());
    append_round(10);
    drain_at_leisure();
    append_round(10);
    site_.pause();
    append_round(10);  // on the session's thread
    outbox_site other;
    other.relay.emplace(other.executor(), to_kafka());
    auto drained = other.relay->async_drained(asio::use_future);
    ASSERT_EQ(drained.wait_for(60s), std::future_status::ready);
    site_.resume();
    append_round(10);
    drain_at_leisure();
    expect_exactly_once(10);
}

class KafkaRelayAlone : public KafkaRelay {
protected:
    KafkaRelayAlone() : KafkaRelay(killable_kafka()) {}
};

TEST_F(KafkaRelayAlone, ABrokerThatIsKilledAndStoppedLosesAndRepeatsNothing) {
    start(to_kafka());
    for (int i = 0; i < 5; ++i)
        append_round(10);
    for (int i = 0; i < 2; ++i) {
        broker_.kill();
        append_round(10);
        broker_.start();
        append_round(10);
        broker_.suspend();
        append_round(10);
        eventually([] { return false; }, 2s);
        broker_.resume();
        append_round(10);
    }
    drain_at_leisure();
    expect_exactly_once(10);
    EXPECT_EQ(events(relay_event::kind::mark_lost), 0u);
    EXPECT_EQ(events(relay_event::kind::refused), 0u);
}

}  // namespace
}  // namespace mortise::test::kafka_relay_test
