// SPDX-License-Identifier: BSL-1.0
// A topic that brokers do not know in this moment is waited for; only then its records are refused.
#include "mortise/kafka/kafka_sink.hpp"
#include "mortise/outbox/append.hpp"
#include "support/eventually.hpp"
#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"
#include "unit/kafka/mock_cluster.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <boost/asio/error.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace mortise::test::kafka_topic_wait_test {
namespace {

using namespace std::chrono_literals;
using kind = kafka::transaction_outcome::kind;
using outbox::message;
using outbox::relay_event;
using texts = std::vector<std::string>;

std::string text(const kafka::transaction_outcome& outcome) {
    return std::string(to_string(outcome.type)) + ": " + outcome.code.message() + "; " +
           outcome.text;
}

/// A producer of which the topic is not known for a while, at a cluster without isolation.
class KafkaTopicWait : public testing::Test {
protected:
    kafka::kafka_config config() {
        auto config = broker_.config();
        config.settings["topic.metadata.refresh.interval.ms"] = "50";
        return config;
    }
    /// Runs a batch while the topic is not known for the first part of the time.
    static kafka::transaction_outcome
    run_while_away(mock_cluster& broker, kafka_user& producer, std::chrono::milliseconds span) {
        broker.tell_of_topic(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
        std::thread back([&] {
            eventually([] { return false; }, span);
            broker.tell_of_topic(RD_KAFKA_RESP_ERR_NO_ERROR);
        });
        const auto outcome = producer.run(one_with_mark());
        back.join();
        return outcome;
    }

    mock_cluster broker_;
};

TEST_F(KafkaTopicWait, ATopicThatIsUnknownForAMomentRefusesNothing) {
    auto patient = config();
    patient.topic_wait_max = 60s;
    kafka_user producer(patient, "id");
    ASSERT_FALSE(producer.init());
    const auto first = run_while_away(broker_, producer, 1'500ms);
    EXPECT_EQ(first.type, kind::committed) << text(first);
}

// Its records fail while they are under way, as the client hears of it between two transactions.
TEST_F(KafkaTopicWait, NorDoesOneThatWasWrittenToBefore) {
    auto patient = config();
    patient.topic_wait_max = 60s;
    kafka_user producer(patient, "id");
    ASSERT_FALSE(producer.init());
    ASSERT_EQ(producer.run(one_with_mark()).type, kind::committed);
    broker_.tell_of_topic(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    eventually([] { return false; }, 300ms);
    const auto next = run_while_away(broker_, producer, 1'500ms);
    EXPECT_EQ(next.type, kind::committed) << text(next);
    EXPECT_EQ(producer.run(one_with_mark()).type, kind::committed);
}

TEST_F(KafkaTopicWait, OneThatStaysAwayIsWaitedForOnce) {
    auto hasty = config();
    hasty.topic_wait_max = 300ms;
    kafka_user producer(hasty, "id");
    ASSERT_FALSE(producer.init());
    broker_.tell_of_topic(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    for (int i = 0; i < 2; ++i) {
        const auto outcome = producer.run(one_with_mark());
        ASSERT_EQ(outcome.type, kind::refused) << text(outcome);
        ASSERT_EQ(outcome.refused.size(), 1u);
        EXPECT_EQ(outcome.refused[0].index, 0u);
        EXPECT_EQ(outcome.refused[0].code, kafka::condition::unknown_topic);
    }
    broker_.tell_of_topic(RD_KAFKA_RESP_ERR_NO_ERROR);
    const auto outcome = producer.run(one_with_mark());
    EXPECT_EQ(outcome.type, kind::committed) << text(outcome);
}

TEST_F(KafkaTopicWait, AStopEndsTheWait) {
    auto patient = config();
    patient.topic_wait_max = 1h;
    kafka_user producer(patient, "id");
    ASSERT_FALSE(producer.init());
    broker_.tell_of_topic(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    producer.start(one_with_mark());
    eventually([] { return false; }, 300ms);
    producer.producer().stop();
    const auto outcome = producer.finish();
    EXPECT_EQ(outcome.type, kind::lost) << text(outcome);
    EXPECT_EQ(outcome.code, asio::error::operation_aborted) << text(outcome);
}

/// From the table to a broker.
class KafkaTopicReturn : public outbox_world {
protected:
    outbox::relay_config to_kafka(std::chrono::milliseconds wait) {
        kafka::kafka_sink_config sink((kafka::kafka_config(shared_kafka().address())));
        sink.cluster.settings = {{"linger.ms", "0"}};
        sink.cluster.topic_wait_max = wait;
        sink.progress_topic = fresh_name("progress");
        sink.progress_partitions = 1;
        outbox::relay_config settings = config();
        settings.sink = kafka::make_kafka_sink(sink);
        settings.topic_look_every = 100ms;
        return settings;
    }
    texts values(const std::string& topic) const {
        return kafka_reader(shared_kafka().address()).settled_values(topic);
    }
    void append_to(const std::string& topic, const std::string& payload) {
        append(message(topic, "key", payload));
    }

    const std::string there_ = fresh_name("there");
    const std::string away_ = fresh_name("away");
};

TEST_F(KafkaTopicReturn, WhatWasParkedIsSentInOrderWhenTheTopicIsMade) {
    shared_kafka().create_topic(there_);
    append_to(away_, "1");
    append_to(there_, "other");
    append_to(away_, "2");
    start(to_kafka(200ms));
    EXPECT_TRUE(eventually([&] { return values(there_) == texts{"other"}; }));
    append_to(away_, "3");
    EXPECT_TRUE(eventually([&] { return list(outbox::row_kind::parked).size() == 3; }));
    shared_kafka().create_topic(away_);
    EXPECT_TRUE(eventually([&] { return values(away_).size() == 3; }));
    EXPECT_EQ(values(away_), (texts{"1", "2", "3"}));
    append_to(away_, "4");
    EXPECT_TRUE(eventually([&] { return values(away_).size() == 4; }));
    EXPECT_TRUE(list(outbox::row_kind::parked).empty());
    EXPECT_GE(events(relay_event::kind::returned), 1u);
}

TEST_F(KafkaTopicReturn, ATopicThatIsDeletedAndMadeAgainWithinTheWaitParksNothing) {
    shared_kafka().create_topic(away_);
    start(to_kafka(60s));
    append_to(away_, "1");
    EXPECT_TRUE(eventually([&] { return values(away_) == texts{"1"}; }));
    shared_kafka().delete_topic(away_);
    append_to(away_, "2");
    append_to(away_, "3");
    eventually([] { return false; }, 2s);
    shared_kafka().create_topic(away_);
    EXPECT_TRUE(eventually([&] {
        return values(away_) == texts{"2", "3"};
    })) << testing::PrintToString(values(away_));
    EXPECT_EQ(events(relay_event::kind::parked), 0u);
}

}  // namespace
}  // namespace mortise::test::kafka_topic_wait_test
