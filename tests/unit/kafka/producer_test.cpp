// SPDX-License-Identifier: BSL-1.0
// What a transactional producer commits, and what it refuses, at a real broker.
#include "support/at_point.hpp"
#include "support/eventually.hpp"
#include "unit/kafka/producer_fixture.hpp"

#include <boost/asio/error.hpp>

#include <librdkafka/rdkafka.h>

namespace mortise::test::producer_test {
namespace {

using kafka::record;
using kafka::transaction_batch;
using kafka::transaction_outcome;

std::vector<std::size_t> indexes(const transaction_outcome& outcome) {
    std::vector<std::size_t> all;
    for (const kafka::refused_record& each : outcome.refused)
        all.push_back(each.index);
    return all;
}

std::string text(const transaction_outcome& outcome) {
    return std::string(to_string(outcome.type)) + ": " + outcome.code.message() + "; " +
           outcome.text;
}

class KafkaProducer : public kafka_producer_fixture {};
using positions = std::vector<std::size_t>;

TEST_F(KafkaProducer, CommitsRecordsAsTheyAreAndSaysWhereTheLastOneIs) {
    broker_.create_topic(topic_ + "-marks", 3);
    transaction_batch batch;
    record full(topic_, "key", "value");
    full.headers = {{"a", "1"}, {"a", std::nullopt}, {"", ""}};
    full.timestamp = 1'700'000'000'000;
    batch.records = {full, record(topic_, std::nullopt, std::nullopt), record(topic_, "", "")};
    record mark(topic_ + "-marks", "shard", "3");
    mark.partition = 2;
    batch.last = mark;

    const transaction_outcome outcome = make_ready()->run(batch);
    ASSERT_EQ(outcome.type, kind::committed) << text(outcome);
    EXPECT_FALSE(outcome.renew);
    EXPECT_EQ(outcome.last.partition, 2);
    const kafka_reader reader(broker_.address());
    const auto marks = reader.read_settled(topic_ + "-marks");
    ASSERT_EQ(marks.size(), 1u);
    EXPECT_EQ(marks[0].partition, 2);
    EXPECT_EQ(marks[0].offset, outcome.last.offset);

    const auto records = reader.read_settled(topic_);
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[0].key, "key");
    EXPECT_EQ(records[0].value, "value");
    EXPECT_EQ(records[0].timestamp, 1'700'000'000'000);
    ASSERT_EQ(records[0].headers.size(), 3u);
    EXPECT_EQ(records[0].headers[0].second, "1");
    EXPECT_EQ(records[0].headers[1].second, std::nullopt);
    EXPECT_EQ(records[0].headers[2].first, "");
    EXPECT_EQ(records[0].headers[2].second, "");
    EXPECT_EQ(records[1].key, std::nullopt);
    EXPECT_EQ(records[1].value, std::nullopt);
    EXPECT_EQ(records[2].key, "");
    EXPECT_EQ(records[2].value, "");
}

TEST_F(KafkaProducer, KeepsTheOrderAndLetsTheLastRecordComeLast) {
    const auto producer = make_ready();
    texts expected;
    for (int round = 0; round < 3; ++round) {
        transaction_batch batch;
        for (int i = 0; i < 200; ++i)
            batch.records.emplace_back(
                topic_, std::nullopt, expected.emplace_back(std::to_string(1'000 * round + i))
            );
        batch.last = record(topic_, "mark", expected.emplace_back("mark"));
        const transaction_outcome outcome = producer->run(batch);
        ASSERT_EQ(outcome.type, kind::committed) << text(outcome);
        EXPECT_EQ(outcome.last.offset, 202 * (round + 1) - 2);  // a control record ends each
    }
    EXPECT_EQ(seen(), expected);
}

TEST_F(KafkaProducer, LetsTheFirstRecordComeFirst) {
    const auto producer = make_ready();
    transaction_batch batch;
    batch.records = {record(topic_, std::nullopt, "a"), record(topic_, std::nullopt, "b")};
    batch.first = record(topic_, "mark", "0");
    batch.last = record(topic_, "mark", "1");
    auto outcome = producer->run(batch);
    ASSERT_EQ(outcome.type, kind::committed) << text(outcome);
    EXPECT_EQ(outcome.last.offset, 3);
    EXPECT_EQ(seen(), (texts{"0", "a", "b", "1"}));
    batch.first->value = std::string(2'000'000, 'x');
    outcome = producer->run(batch);
    ASSERT_EQ(outcome.type, kind::refused) << text(outcome);
    EXPECT_EQ(indexes(outcome), positions{3}) << "behind the last one";
}

TEST_F(KafkaProducer, CommitsNothingWithoutARecord) {
    const auto producer = make_ready();
    const transaction_outcome outcome = producer->run({});
    EXPECT_EQ(outcome.type, kind::committed) << text(outcome);
    EXPECT_EQ(outcome.last.offset, -1);
    EXPECT_EQ(producer->run(batch_of(topic_, {"x"})).type, kind::committed);
    EXPECT_EQ(seen(), texts{"x"});
}

TEST_F(KafkaProducer, NamesRecordsThatAreTooLargeForItselfAndGoesOn) {
    const auto producer = make_ready();
    const std::string huge(2'000'000, 'x');
    const auto outcome = producer->run(batch_of(topic_, {"a", huge, "b", huge}));
    ASSERT_EQ(outcome.type, kind::refused) << text(outcome);
    EXPECT_EQ(indexes(outcome), (positions{1, 3}));
    EXPECT_EQ(outcome.refused[0].code, kafka::condition::too_large);
    EXPECT_FALSE(outcome.refused[0].text.empty());
    EXPECT_EQ(seen(), texts{});
    EXPECT_EQ(producer->run(batch_of(topic_, {"a", "b"})).type, kind::committed);
    EXPECT_EQ(seen(), (texts{"a", "b"}));
}

TEST_F(KafkaProducer, NamesTheOneRecordThatIsTooLargeForTheBroker) {
    const std::string narrow = topic_ + "-narrow";
    broker_.create_topic(narrow, 1, {{"max.message.bytes", "2000"}});
    const auto producer = make_ready();
    auto batch = batch_of(narrow, {"a", "b", std::string(5'000, 'x'), "c"});
    batch.records.emplace_back(topic_, std::nullopt, "elsewhere");
    const auto outcome = producer->run(batch);
    ASSERT_EQ(outcome.type, kind::refused) << text(outcome);
    EXPECT_EQ(indexes(outcome), positions{2});
    EXPECT_EQ(outcome.refused[0].code, kafka::condition::too_large);
    batch.records.erase(batch.records.begin() + 2);
    EXPECT_EQ(producer->run(batch).type, kind::committed);
    const kafka_reader reader(broker_.address());
    EXPECT_EQ(reader.settled_values(narrow), (texts{"a", "b", "c"}));
    EXPECT_EQ(seen(), texts{"elsewhere"});
}

TEST_F(KafkaProducer, FindsTheOneRecordAmongManyThatCameTogether) {
    const std::string compacted = topic_ + "-compacted";
    broker_.create_topic(compacted, 1, {{"cleanup.policy", "compact"}});
    auto slow = config();
    slow.settings["linger.ms"] = "50";
    const auto producer = make_ready(slow);
    transaction_batch batch;
    for (int i = 0; i < 300; ++i)
        batch.records.emplace_back(compacted, std::to_string(i), std::to_string(i));
    batch.records[222].key.reset();
    const auto outcome = producer->run(batch);
    ASSERT_EQ(outcome.type, kind::refused) << text(outcome);
    EXPECT_EQ(indexes(outcome), positions{222});
    batch.records.erase(batch.records.begin() + 222);
    EXPECT_EQ(producer->run(batch).type, kind::committed);
    EXPECT_EQ(kafka_reader(broker_.address()).read_settled(compacted).size(), 299u);
}

TEST_F(KafkaProducer, CommitsRecordsThatAreTooLargeOnlyTogether) {
    const std::string narrow = topic_ + "-narrow";
    broker_.create_topic(narrow, 1, {{"max.message.bytes", "2000"}});
    const auto producer = make_ready();
    texts expected;
    for (int round = 0; round < 3; ++round) {
        texts values;
        for (int i = 0; i < 20; ++i)
            values.push_back(std::to_string(i) + std::string(300, 'x'));
        const auto outcome = producer->run(batch_of(narrow, values));
        ASSERT_EQ(outcome.type, kind::committed) << text(outcome);
        expected.insert(expected.end(), values.begin(), values.end());
    }
    EXPECT_EQ(kafka_reader(broker_.address()).settled_values(narrow), expected);
}

TEST_F(KafkaProducer, NamesTheOneRecordWithoutAKeyInACompactedTopic) {
    const std::string compacted = topic_ + "-compacted";
    broker_.create_topic(compacted, 1, {{"cleanup.policy", "compact"}});
    const auto producer = make_ready();
    transaction_batch batch;
    batch.records = {
        record(compacted, "a", "1"),
        record(compacted, std::nullopt, "2"),
        record(compacted, "b", "3")};
    batch.last = record(compacted, "mark", "4");
    const auto outcome = producer->run(batch);
    ASSERT_EQ(outcome.type, kind::refused) << text(outcome);
    EXPECT_EQ(indexes(outcome), positions{1});
    EXPECT_EQ(outcome.refused[0].code.value(), RD_KAFKA_RESP_ERR_INVALID_RECORD);
    EXPECT_EQ(kafka_reader(broker_.address()).settled_values(compacted), texts{});
}

TEST_F(KafkaProducer, NamesUnknownTopicsAndPartitionsBeforeAnythingIsSent) {
    const auto producer = make_ready();
    auto batch = batch_of(topic_, {"a", "b", "c", "d"});
    batch.records[1].topic = fresh_name("missing");
    batch.records[2].partition = 7;
    batch.records[3].topic = "not a topic";
    batch.last = record(fresh_name("missing"), "mark", "1");
    const auto outcome = producer->run(batch);
    ASSERT_EQ(outcome.type, kind::refused) << text(outcome);
    EXPECT_EQ(indexes(outcome), (positions{1, 2, 3, 4}));
    EXPECT_EQ(outcome.refused[0].code, kafka::condition::unknown_topic);
    EXPECT_EQ(outcome.refused[1].code, kafka::condition::unknown_topic);
    EXPECT_EQ(kafka_reader(broker_.address()).end_of(topic_, 0), 0);
}

TEST_F(KafkaProducer, NoticesThatATopicWasDeleted) {
    const std::string doomed = topic_ + "-doomed";
    broker_.create_topic(doomed);
    auto quick = config();
    quick.settings["message.timeout.ms"] = "1000";
    auto producer = make_ready(quick);
    ASSERT_EQ(producer->run(batch_of(doomed, {"a"})).type, kind::committed);
    broker_.delete_topic(doomed);
    // librdkafka 2.0 may break the producer over it: an abort of what never began is refused.
    auto outcome = producer->run(batch_of(doomed, {"b"}));
    for (int tries = 0; tries < 5 && outcome.type != kind::refused; ++tries) {
        ASSERT_NE(outcome.type, kind::committed);
        if (outcome.type == kind::lost)
            producer = make_ready(quick);
        outcome = producer->run(batch_of(doomed, {"b"}));
    }
    ASSERT_EQ(outcome.type, kind::refused) << text(outcome);
    EXPECT_EQ(indexes(outcome), positions{0});
    EXPECT_EQ(producer->run(batch_of(topic_, {"c"})).type, kind::committed);
    EXPECT_EQ(seen(), texts{"c"});
}

TEST_F(KafkaProducer, WaitsWhileTheQueueIsFull) {
    auto small = config();
    small.settings["queue.buffering.max.messages"] = "10";
    texts values;
    for (int i = 0; i < 500; ++i)
        values.push_back(std::to_string(i));
    const auto outcome = make_ready(small)->run(batch_of(topic_, values));
    ASSERT_EQ(outcome.type, kind::committed) << text(outcome);
    EXPECT_EQ(seen(), values);
}

TEST_F(KafkaProducer, IsLostWhenARivalBegins) {
    const auto first = make_ready();
    ASSERT_EQ(first->run(batch_of(topic_, {"a"})).type, kind::committed);
    const auto second = make_ready();
    const auto outcome = first->run(batch_of(topic_, {"b"}));
    ASSERT_EQ(outcome.type, kind::lost) << text(outcome);
    EXPECT_EQ(outcome.code, kafka::condition::fenced) << text(outcome);
    EXPECT_EQ(first->run(batch_of(topic_, {"c"})).code, kafka::errc::lost);
    EXPECT_EQ(first->init(), kafka::errc::lost);
    EXPECT_EQ(second->run(batch_of(topic_, {"d"})).type, kind::committed);
    EXPECT_EQ(seen(), (texts{"a", "d"}));
}

#ifdef MORTISE_PLANT_BUGS  // the point is compiled in
TEST_F(KafkaProducer, IsLostWhenItSleptThroughItsOwnTransaction) {
    auto sleepy = config();
    sleepy.settings["transaction.timeout.ms"] = "1000";
    const auto producer = make_ready(sleepy);
    const kafka_reader reader(broker_.address());
    const at_point pause("kafka.before_last", [&] {
        EXPECT_GT(reader.end_of(topic_, 0), 0);
        reader.read_settled(topic_);  // until the broker has aborted it
    });
    auto batch = batch_of(topic_, {"a"});
    batch.last = record(topic_, "mark", "b");
    const auto outcome = producer->run(batch);
    ASSERT_EQ(outcome.type, kind::lost) << text(outcome);
    EXPECT_EQ(outcome.code, kafka::condition::fenced) << text(outcome);
    EXPECT_EQ(seen(), texts{});
    EXPECT_EQ(make_ready()->run(batch).type, kind::committed);
    EXPECT_EQ(seen(), (texts{"a", "b"}));
}
#endif

// The partition of a key depends on their number: earlier records may be read later.
TEST_F(KafkaProducer, TellsThatATopicHasMorePartitionsThanBefore) {
    const auto producer = make_ready();
    const auto first = producer->run(batch_of(topic_, {"a"}));
    ASSERT_EQ(first.type, kind::committed) << text(first);
    EXPECT_TRUE(first.notices.empty());
    {
        const raw_kafka by = open_raw_kafka(RD_KAFKA_PRODUCER, broker_.address());
        char why[256];
        rd_kafka_NewPartitions_t* wanted =
            ::rd_kafka_NewPartitions_new(topic_.c_str(), 3, why, sizeof why);
        const raw_kafka_owned<rd_kafka_queue_t> queue(::rd_kafka_queue_new(by.get()));
        ::rd_kafka_CreatePartitions(by.get(), &wanted, 1, nullptr, queue.get());
        ::rd_kafka_NewPartitions_destroy(wanted);
        const raw_kafka_owned<rd_kafka_event_t> event(::rd_kafka_queue_poll(queue.get(), 15'000));
        ASSERT_TRUE(event);
        check_raw_kafka(::rd_kafka_event_error(event.get()));
    }
    // It is asked once in a minute; or after something did not work.
    EXPECT_TRUE(eventually([&] {
        EXPECT_EQ(
            producer->run(batch_of(topic_, {std::string(2'000'000, 'x')})).type, kind::refused
        );
        const auto next = producer->run(batch_of(topic_, {"b"}));
        EXPECT_EQ(next.type, kind::committed) << text(next);
        return next.notices.size() == 1 &&
               next.notices[0].find("has 3 partitions and had 1") != std::string::npos;
    }));
    EXPECT_TRUE(producer->run(batch_of(topic_, {"c"})).notices.empty());
}

TEST_F(KafkaProducer, IsNotReadyBeforeItsInit) {
    kafka_user producer(config(), id_);
    const auto outcome = producer.run(batch_of(topic_, {"a"}));
    EXPECT_EQ(outcome.type, kind::lost);
    EXPECT_EQ(outcome.code, kafka::errc::not_ready);
    EXPECT_FALSE(producer.init());
    EXPECT_FALSE(producer.init());
    EXPECT_EQ(producer.run(batch_of(topic_, {"a"})).type, kind::committed);
}

TEST_F(KafkaProducer, IsOverOnceItWasStopped) {
    const auto producer = make_ready();
    EXPECT_FALSE(producer->stop());
    const auto outcome = producer->run(batch_of(topic_, {"a"}));
    EXPECT_EQ(outcome.type, kind::lost);
    EXPECT_EQ(outcome.code, asio::error::operation_aborted);
    EXPECT_EQ(producer->init(), asio::error::operation_aborted);
    EXPECT_FALSE(producer->stop());
    EXPECT_EQ(seen(), texts{});
}

TEST_F(KafkaProducer, SpeaksToItsObserverAlsoWhileNothingRuns) {
    kafka_listener listener;
    auto watched = config();
    watched.settings["statistics.interval.ms"] = "20";
    watched.watch = &listener;
    {
        const auto producer = make_ready(watched);
        const std::size_t before = listener.statistics();
        EXPECT_TRUE(eventually([&] { return listener.statistics() >= before + 5; }));
    }
    const std::size_t at_end = listener.statistics();
    kafka_reader(broker_.address()).read(topic_);
    EXPECT_EQ(listener.statistics(), at_end);
}

}  // namespace
}  // namespace mortise::test::producer_test
