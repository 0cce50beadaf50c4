// SPDX-License-Identifier: BSL-1.0
// The cluster's facts, topics that are made or found, and the newest record of a key.
#include "mortise/kafka/cluster.hpp"
#include "unit/kafka/producer_fixture.hpp"

#include <boost/asio/io_context.hpp>

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <optional>

namespace mortise::test::kafka_cluster_test {
namespace {

using namespace std::chrono_literals;
using kafka::found_record;
using kafka::record;
using kafka::topic_wish;

/// A cluster, and the context that it completes in.
class asker {
public:
    explicit asker(kafka::kafka_config config)
        : cluster_(context_.get_executor(), std::move(config)) {}

    result<std::string> id() {
        result<std::string> got = error_code();
        cluster_.async_id([&](error_code ec, std::string text) { keep(got, ec, text); });
        run();
        return got;
    }
    result<bool> ensure(topic_wish wish) {
        result<bool> got = error_code();
        cluster_.async_ensure_topic(std::move(wish), [&](error_code ec, bool created) {
            keep(got, ec, created);
        });
        run();
        return got;
    }
    result<std::optional<found_record>>
    last(const std::string& topic, const std::string& key, std::int64_t from = 0, int part = 0) {
        result<std::optional<found_record>> got = error_code();
        cluster_.async_last_record(
            topic,
            part,
            key,
            from,
            [&](error_code ec, std::optional<found_record> found) { keep(got, ec, found); }
        );
        run();
        return got;
    }

    std::string trouble() const { return cluster_.trouble(); }

private:
    template <class Value>
    static void keep(result<Value>& into, error_code ec, const Value& value) {
        if (ec)
            into = ec;
        else
            into = value;
    }
    void run() {
        context_.restart();
        context_.run();
    }

    asio::io_context context_;
    kafka::cluster cluster_;
};

class KafkaCluster : public kafka_producer_fixture {
protected:
    void commit(kafka_user& by, const std::string& key, std::optional<std::string> value) {
        kafka::transaction_batch batch;
        batch.last = record(topic_, key, std::move(value));
        const auto outcome = by.run(batch);
        ASSERT_EQ(outcome.type, kind::committed) << outcome.code.message();
    }

    asker asks_{config()};
};

TEST_F(KafkaCluster, TellsItsId) {
    EXPECT_EQ(asks_.id().value(), broker_.cluster_id());
    EXPECT_EQ(asks_.id().value(), broker_.cluster_id());
}

TEST_F(KafkaCluster, ThatDoesNotAnswerIsGivenUpInTime) {
    kafka::kafka_config nobody("127.0.0.1:1");
    nobody.answer_wait_max = 300ms;
    asker asks(nobody);
    EXPECT_EQ(asks.id().error(), mortise::condition::retryable);
    EXPECT_EQ(asks.ensure({"topic", 1}).error(), mortise::condition::retryable);
    EXPECT_EQ(asks.last("topic", "key").error(), mortise::condition::retryable);
    EXPECT_NE(asks.trouble().find("127.0.0.1:1"), std::string::npos) << asks.trouble();
    EXPECT_NE(asks.trouble().find("refused"), std::string::npos) << asks.trouble();
}

TEST_F(KafkaCluster, TellsWhatIsWrongWithAConnectionUntilSomethingWorks) {
    auto half = config();
    half.bootstrap_servers = "127.0.0.1:1";
    half.answer_wait_max = 300ms;
    asker asks(half);
    EXPECT_EQ(asks.trouble(), "");
    EXPECT_FALSE(asks.id());
    EXPECT_NE(asks.trouble(), "");
    half.bootstrap_servers = "127.0.0.1:1," + broker_.address();
    half.answer_wait_max = 10s;
    asker finds(half);
    EXPECT_TRUE(finds.id());
    EXPECT_EQ(finds.trouble(), "");
}

TEST_F(KafkaCluster, MakesATopicOnceAndFindsItAfterwards) {
    topic_wish wish(fresh_name("made"), 3);
    wish.compacted = true;
    wish.settings = {{"segment.bytes", "1048576"}};
    EXPECT_TRUE(asks_.ensure(wish).value());
    EXPECT_FALSE(asks_.ensure(wish).value());
    const auto producer = make_ready();
    kafka::transaction_batch batch;
    batch.last = record(wish.name, "key", "value");
    batch.last->partition = 2;
    EXPECT_EQ(producer->run(batch).type, kind::committed);
    EXPECT_EQ(asks_.last(wish.name, "key", 0, 2).value()->value, "value");
}

TEST_F(KafkaCluster, RefusesATopicThatIsAnother) {
    const std::string name = fresh_name("made");
    broker_.create_topic(name, 2);
    EXPECT_FALSE(asks_.ensure({name, 2}).value());
    EXPECT_EQ(asks_.ensure({name, 3}).error(), kafka::errc::topic_differs);
    topic_wish compacted(name, 2);
    compacted.compacted = true;
    EXPECT_EQ(asks_.ensure(compacted).error(), kafka::errc::topic_differs);
}

TEST_F(KafkaCluster, SaysWhatKafkaObjectsTo) {
    topic_wish wish(fresh_name("made"), 1);
    wish.replicas = 3;
    EXPECT_EQ(asks_.ensure(wish).error().value(), RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR);
    wish.replicas = 1;
    wish.settings = {{"no.such.setting", "1"}};
    EXPECT_EQ(asks_.ensure(wish).error().value(), RD_KAFKA_RESP_ERR_INVALID_CONFIG);
    EXPECT_EQ(asks_.ensure({"not a topic", 1}).error().value(), RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION);
}

TEST_F(KafkaCluster, FindsTheNewestRecordOfAKeyBehindControlRecords) {
    EXPECT_FALSE(asks_.last(topic_, "a").value());
    const auto producer = make_ready();
    commit(*producer, "a", "1");
    commit(*producer, "b", "2");
    commit(*producer, "a", "3");
    commit(*producer, "b", "4");
    const auto found = asks_.last(topic_, "a").value();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->value, "3");
    EXPECT_EQ(found->at.partition, 0);
    EXPECT_EQ(found->at.offset, 4);
    EXPECT_GT(found->timestamp, 0);
    EXPECT_EQ(asks_.last(topic_, "a", 4).value()->value, "3");
    EXPECT_FALSE(asks_.last(topic_, "a", 5).value());
    EXPECT_FALSE(asks_.last(topic_, "a", 8).value());
    EXPECT_FALSE(asks_.last(topic_, "c").value());
    EXPECT_EQ(asks_.last(topic_, "a", 9).error(), kafka::errc::offset_gone);
    commit(*producer, "a", std::nullopt);
    EXPECT_EQ(asks_.last(topic_, "a").value()->value, std::nullopt);
}

TEST_F(KafkaCluster, DoesNotSeeWhatWasAbortedAndWaitsForWhatIsOpen) {
    const auto producer = make_ready();
    commit(*producer, "a", "1");
    // Leave the transaction of a relay that dies in the middle of its batch.
    raw_kafka left =
        open_raw_kafka(RD_KAFKA_PRODUCER, broker_.address(), {{"transactional.id", id_ + "-left"}});
    check_raw_kafka(::rd_kafka_init_transactions(left.get(), 10'000));
    check_raw_kafka(::rd_kafka_begin_transaction(left.get()));
    raw_kafka_produce(left, topic_, 0, "a", "open");

    auto hasty = config();
    hasty.answer_wait_max = 500ms;
    asker asks(hasty);
    EXPECT_EQ(asks.last(topic_, "a").error(), kafka::errc::still_open);
    check_raw_kafka(::rd_kafka_abort_transaction(left.get(), 10'000));
    EXPECT_EQ(asks_.last(topic_, "a").value()->value, "1");
}

TEST_F(KafkaCluster, SaysThatThereIsNoSuchTopicOrPartition) {
    const std::string missing = fresh_name("missing");
    EXPECT_EQ(asks_.last(missing, "a").error(), kafka::condition::unknown_topic);
    EXPECT_EQ(asks_.last(topic_, "a", 0, 1).error(), kafka::condition::unknown_topic);
    EXPECT_EQ(asks_.last(topic_, "a", 0, -1).error(), kafka::condition::unknown_topic);
}

}  // namespace
}  // namespace mortise::test::kafka_cluster_test
