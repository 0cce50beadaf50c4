// SPDX-License-Identifier: BSL-1.0
// What a code of librdkafka means for a record, and for a transaction.
#include "failure_classes.hpp"
#include "producer/delivery_book.hpp"

#include <gtest/gtest.h>

#include <librdkafka/rdkafka.h>

namespace mortise::test::failure_classes_test {
namespace {

using kafka::detail::blame;
using kafka::detail::call_failure;
using kafka::detail::remedy;

TEST(KafkaFailures, TheCodeCountsMoreThanTheFlags) {
    constexpr bool fatal = true;
    constexpr bool abortable = true;
    constexpr bool retriable = true;
    const auto of = [](int code, bool is_fatal, bool is_abortable, bool is_retriable) {
        return remedy_of(call_failure{code, is_fatal, is_abortable, is_retriable});
    };
    EXPECT_EQ(of(RD_KAFKA_RESP_ERR__FENCED, !fatal, abortable, !retriable), remedy::give_up);
    EXPECT_EQ(
        of(RD_KAFKA_RESP_ERR_PRODUCER_FENCED, !fatal, abortable, !retriable), remedy::give_up
    );
    EXPECT_EQ(of(RD_KAFKA_RESP_ERR__FATAL, fatal, abortable, retriable), remedy::give_up);
    EXPECT_EQ(of(RD_KAFKA_RESP_ERR__TIMED_OUT, !fatal, !abortable, retriable), remedy::resume);
    EXPECT_EQ(of(RD_KAFKA_RESP_ERR__TIMED_OUT, !fatal, abortable, retriable), remedy::abort);
    EXPECT_EQ(of(RD_KAFKA_RESP_ERR__INCONSISTENT, !fatal, abortable, !retriable), remedy::abort);
    EXPECT_EQ(of(RD_KAFKA_RESP_ERR__STATE, !fatal, !abortable, !retriable), remedy::give_up);
}

TEST(KafkaFailures, InnocentRecordsAreNotBlamed) {
    for (const int code :
         {RD_KAFKA_RESP_ERR__PURGE_QUEUE,
          RD_KAFKA_RESP_ERR__PURGE_INFLIGHT,
          RD_KAFKA_RESP_ERR__MSG_TIMED_OUT,
          RD_KAFKA_RESP_ERR__TRANSPORT,
          RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
          RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
          RD_KAFKA_RESP_ERR_PRODUCER_FENCED,
          RD_KAFKA_RESP_ERR__FATAL})
        EXPECT_EQ(kafka::detail::blame_of_delivery(code), blame::none) << code;
    EXPECT_EQ(kafka::detail::blame_of_call(RD_KAFKA_RESP_ERR__QUEUE_FULL), blame::none);
    EXPECT_EQ(kafka::detail::blame_of_call(RD_KAFKA_RESP_ERR__STATE), blame::none);
    EXPECT_EQ(kafka::detail::blame_of_call(0), blame::none);
}

TEST(KafkaFailures, WhatABrokerRefusesAsAWholeNamesNoOne) {
    EXPECT_EQ(
        kafka::detail::blame_of_delivery(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE), blame::neighbour
    );
    EXPECT_EQ(kafka::detail::blame_of_delivery(RD_KAFKA_RESP_ERR_INVALID_RECORD), blame::neighbour);
    EXPECT_EQ(kafka::detail::blame_of_call(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE), blame::record);
    EXPECT_EQ(kafka::detail::blame_of_delivery(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION), blame::topic);
    EXPECT_EQ(
        kafka::detail::blame_of_delivery(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART), blame::topic
    );
    EXPECT_EQ(kafka::detail::blame_of_call(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC), blame::topic);
    EXPECT_EQ(
        kafka::detail::blame_of_delivery(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED),
        blame::record
    );
}

TEST(KafkaFailures, CodesHaveTextsAndConditions) {
    const error_code fenced = kafka::kafka_error(RD_KAFKA_RESP_ERR__FENCED);
    EXPECT_EQ(fenced, kafka::condition::fenced);
    EXPECT_NE(fenced, kafka::condition::too_large);
    EXPECT_EQ(fenced.message(), ::rd_kafka_err2str(RD_KAFKA_RESP_ERR__FENCED));
    EXPECT_STREQ(fenced.category().name(), "kafka");
    const error_code away = kafka::kafka_error(RD_KAFKA_RESP_ERR__TRANSPORT);
    EXPECT_EQ(away, mortise::condition::retryable);
    EXPECT_NE(away, mortise::condition::bad_argument);
    EXPECT_EQ(
        kafka::kafka_error(RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        kafka::condition::not_authorized
    );
    EXPECT_FALSE(kafka::kafka_error(0));
    for (const auto code :
         {kafka::errc::uncertain,
          kafka::errc::lost,
          kafka::errc::not_ready,
          kafka::errc::topic_differs,
          kafka::errc::still_open,
          kafka::errc::offset_gone})
        EXPECT_NE(error_code(code).message(), error_code(99, kafka::error_category()).message());
}

}  // namespace
}  // namespace mortise::test::failure_classes_test
