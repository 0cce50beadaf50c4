// SPDX-License-Identifier: BSL-1.0
// Errors that a real broker gives only now and then, given by librdkafka's stand-in for one. It has
// no isolation and fences nobody: these tests prove only the reaction to an error.
#include "unit/kafka/mock_cluster.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::test::injected_error_test {
namespace {

using kind = kafka::transaction_outcome::kind;

using request = mock_cluster::request;

struct injected {
    request at;
    int code;
    kind expected;
};

TEST(KafkaInjected, ErrorsOfATransactionMakeTheRightOutcome) {
    const std::vector<injected> table = {
        {request::add_partitions, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, kind::committed},
        {request::add_partitions, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS, kind::committed},
        {request::add_partitions, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, kind::committed},
        {request::add_partitions, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, kind::again},
        {request::add_partitions, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, kind::again},
        {request::add_partitions, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, kind::again},
        {request::add_partitions, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE, kind::lost},
        {request::add_partitions, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, kind::lost},
        {request::add_partitions, RD_KAFKA_RESP_ERR_PRODUCER_FENCED, kind::lost},
        {request::produce, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, kind::committed},
        {request::produce, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS, kind::again},
        {request::produce, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE, kind::again},
        {request::produce, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, kind::lost},
        {request::produce, RD_KAFKA_RESP_ERR_PRODUCER_FENCED, kind::lost},
        {request::produce, RD_KAFKA_RESP_ERR_INVALID_RECORD, kind::refused},
        {request::produce, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, kind::refused},
        {request::end_transaction, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, kind::committed},
        {request::end_transaction, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, kind::again},
        {request::end_transaction, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE, kind::lost},
        {request::end_transaction, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, kind::lost},
    };
    for (const injected& each : table) {
        SCOPED_TRACE(
            std::to_string(static_cast<int>(each.at)) + " " +
            ::rd_kafka_err2name(static_cast<rd_kafka_resp_err_t>(each.code))
        );
        mock_cluster broker;
        kafka_user producer(broker.config(), "id");
        ASSERT_FALSE(producer.init());
        broker.answer(each.at, each.code);
        const auto outcome = producer.run(one_with_mark());
        EXPECT_EQ(outcome.type, each.expected)
            << to_string(outcome.type) << ": " << outcome.code.message() << "; " << outcome.text;
        EXPECT_EQ(outcome.refused.empty(), outcome.type != kind::refused);
        // A producer that is not lost works on; a lost one stays lost.
        const auto next = producer.run(one_with_mark());
        EXPECT_EQ(next.type, each.expected == kind::lost ? kind::lost : kind::committed)
            << to_string(next.type) << ": " << next.code.message() << "; " << next.text;
    }
}

TEST(KafkaInjected, ATopicThatMayNotBeWrittenToIsFoundAmongSeveral) {
    mock_cluster broker;
    kafka_user producer(broker.config(), "id");
    ASSERT_FALSE(producer.init());
    // Of the batch, and then of its topics one by one, in the order of their names.
    broker.answer(request::add_partitions, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 2);
    const auto outcome = producer.run(one_with_mark());
    ASSERT_EQ(outcome.type, kind::refused) << to_string(outcome.type) << outcome.text;
    ASSERT_EQ(outcome.refused.size(), 1u);
    EXPECT_EQ(outcome.refused[0].index, 1u);
    EXPECT_EQ(outcome.refused[0].code, kafka::condition::not_authorized);
    EXPECT_EQ(producer.run(one_with_mark()).type, kind::committed);
}

// A rival began meanwhile: that counts more than what the record was refused for.
TEST(KafkaInjected, AFencedAbortAfterARefusedRecordIsFenced) {
    for (const int refusal :
         {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
          RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
          RD_KAFKA_RESP_ERR_INVALID_RECORD}) {
        SCOPED_TRACE(refusal);
        mock_cluster broker;
        kafka_user producer(broker.config(), "id");
        ASSERT_FALSE(producer.init());
        ASSERT_EQ(producer.run(one_with_mark()).type, kind::committed);
        broker.answer(request::produce, refusal);
        broker.answer(request::end_transaction, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH);
        const auto outcome = producer.run(one_with_mark());
        ASSERT_EQ(outcome.type, kind::lost) << to_string(outcome.type) << outcome.text;
        EXPECT_EQ(outcome.code, kafka::condition::fenced) << outcome.code.message();
        EXPECT_TRUE(outcome.refused.empty());
    }
}

TEST(KafkaInjected, ErrorsOfInitAreToldApart) {
    mock_cluster broker;
    {
        kafka_user producer(broker.config(), "id");
        broker.answer(request::init_producer_id, RD_KAFKA_RESP_ERR_NOT_COORDINATOR, 2);
        EXPECT_FALSE(producer.init());
    }
    for (const int code :
         {RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
          RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
          RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT}) {
        SCOPED_TRACE(code);
        kafka_user producer(broker.config(), "id");
        broker.answer(request::init_producer_id, code);
        const error_code ec = producer.init();
        EXPECT_TRUE(ec);
        EXPECT_NE(ec, mortise::condition::retryable) << ec.message();
        EXPECT_EQ(producer.init(), kafka::errc::lost);
    }
}

}  // namespace
}  // namespace mortise::test::injected_error_test
