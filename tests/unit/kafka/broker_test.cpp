// SPDX-License-Identifier: BSL-1.0
// The broker of these tests is a real one: it gets right what a stand-in gets wrong.
#include "support/kafka_broker.hpp"
#include "support/kafka_reader.hpp"

#include <gtest/gtest.h>

namespace mortise::test::kafka_broker_test {
namespace {

constexpr int limit_ms = 20'000;

raw_kafka open_transactional(kafka_broker& broker, const std::string& id) {
    raw_kafka handle =
        open_raw_kafka(RD_KAFKA_PRODUCER, broker.address(), {{"transactional.id", id}});
    check_raw_kafka(::rd_kafka_init_transactions(handle.get(), limit_ms));
    return handle;
}

void begin_and_produce(
    const raw_kafka& handle, const std::string& topic, const std::string& value
) {
    check_raw_kafka(::rd_kafka_begin_transaction(handle.get()));
    raw_kafka_produce(handle, topic, RD_KAFKA_PARTITION_UA, "key", value);
}

void commit(const raw_kafka& handle) {
    check_raw_kafka(::rd_kafka_commit_transaction(handle.get(), limit_ms));
}

class KafkaBroker : public testing::Test {
protected:
    KafkaBroker() { broker_.create_topic(topic_); }

    std::vector<std::string> committed() const { return reader_.values(topic_); }
    std::vector<std::string> written() const {
        return kafka_reader(broker_.address(), kafka_isolation::read_uncommitted).values(topic_);
    }

    using texts = std::vector<std::string>;
    kafka_broker& broker_ = shared_kafka();
    const std::string topic_ = fresh_name("topic");
    const std::string id_ = fresh_name("id");
    const kafka_reader reader_{broker_.address()};
};

TEST_F(KafkaBroker, ShowsWhatWasCommittedAndNeitherWhatIsOpenNorWhatWasAborted) {
    const raw_kafka producer = open_transactional(broker_, id_);
    begin_and_produce(producer, topic_, "committed");
    EXPECT_EQ(committed(), texts{});
    commit(producer);
    EXPECT_EQ(reader_.settled_values(topic_), texts{"committed"});

    begin_and_produce(producer, topic_, "aborted");
    check_raw_kafka(::rd_kafka_abort_transaction(producer.get(), limit_ms));
    begin_and_produce(producer, topic_, "open");
    EXPECT_EQ(committed(), texts{"committed"});
    EXPECT_EQ(written(), (texts{"committed", "aborted", "open"}));
}

TEST_F(KafkaBroker, CountsControlRecordsAmongTheOffsets) {
    const raw_kafka producer = open_transactional(broker_, id_);
    begin_and_produce(producer, topic_, "one");
    commit(producer);
    EXPECT_EQ(reader_.read_settled(topic_).size(), 1u);
    EXPECT_EQ(reader_.end_of(topic_, 0), 2);
}

TEST_F(KafkaBroker, FencesTheFirstProducerOfAnIdWhenTheSecondBegins) {
    const raw_kafka first = open_transactional(broker_, id_);
    begin_and_produce(first, topic_, "of the first");
    const raw_kafka second = open_transactional(broker_, id_);
    rd_kafka_error_t* const refused = ::rd_kafka_commit_transaction(first.get(), limit_ms);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(::rd_kafka_error_code(refused), RD_KAFKA_RESP_ERR__FENCED);
    ::rd_kafka_error_destroy(refused);

    begin_and_produce(second, topic_, "of the second");
    commit(second);
    EXPECT_EQ(reader_.settled_values(topic_), texts{"of the second"});
}

TEST(KafkaBrokerAlone, KeepsWhatWasCommittedWhenItIsKilled) {
    kafka_broker broker;
    broker.create_topic("topic");
    const std::string id = broker.cluster_id();
    {
        const raw_kafka producer = open_transactional(broker, "id");
        begin_and_produce(producer, "topic", "before");
        commit(producer);
        begin_and_produce(producer, "topic", "open");
        broker.kill();
        broker.start();
    }
    const raw_kafka again = open_transactional(broker, "id");
    begin_and_produce(again, "topic", "after");
    commit(again);
    const kafka_reader reader(broker.address());
    EXPECT_EQ(reader.settled_values("topic"), (std::vector<std::string>{"before", "after"}));
    EXPECT_EQ(broker.cluster_id(), id);
}

TEST(KafkaBrokerAlone, IsAnotherClusterWithoutItsData) {
    kafka_broker broker({"auto.create.topics.enable=false"});
    broker.create_topic("topic");
    const std::string id = broker.cluster_id();
    broker.stop();
    broker.start(kafka_broker::data::lost);
    EXPECT_NE(broker.cluster_id(), id);
    EXPECT_ANY_THROW(kafka_reader(broker.address()).read("topic"));
    broker.create_topic("topic", 3);
    EXPECT_TRUE(kafka_reader(broker.address()).read("topic").empty());
}

TEST(KafkaBrokerAlone, SaysWhyItDoesNotStart) {
    try {
        kafka_broker broker({"num.io.threads=none"});
        FAIL() << "it started";
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string(e.what()).find("num.io.threads"), std::string::npos) << e.what();
    }
}

}  // namespace
}  // namespace mortise::test::kafka_broker_test
