// SPDX-License-Identifier: BSL-1.0
// Errors that a real broker gives only now and then, given by librdkafka's stand-in for one. It has
// no isolation and fences nobody: what is proved here is what is made of an error, and no more.
#include "support/raw_kafka.hpp"
#include "unit/kafka/kafka_user.hpp"

#include <gtest/gtest.h>

#include <librdkafka/rdkafka_mock.h>

#include <memory>
#include <string>
#include <vector>

namespace mortise::test::injected_error_test {
namespace {

using kind = kafka::transaction_outcome::kind;

// Kafka's numbers of its requests.
enum class request : std::int16_t {
    produce = 0,
    init_producer_id = 22,
    add_partitions = 24,
    end_transaction = 26,
};

class stand_in {
public:
    stand_in()
        : handle_(open_raw_kafka(RD_KAFKA_PRODUCER, "127.0.0.1:1")),
          cluster_(::rd_kafka_mock_cluster_new(handle_.get(), 1)) {
        for (const char* topic : {"topic", "other"})
            check_raw_kafka(::rd_kafka_mock_topic_create(cluster_.get(), topic, 1, 1));
    }

    /// The next requests of that kind get this answer.
    void answer(request to, int code, std::size_t times = 1) {
        const std::vector<rd_kafka_resp_err_t> codes(times, static_cast<rd_kafka_resp_err_t>(code));
        ::rd_kafka_mock_push_request_errors_array(
            cluster_.get(), static_cast<std::int16_t>(to), codes.size(), codes.data()
        );
    }

    kafka::kafka_config config() const {
        kafka::kafka_config made(::rd_kafka_mock_cluster_bootstraps(cluster_.get()));
        made.settings = {{"linger.ms", "0"}};
        return made;
    }

private:
    struct closer {
        void operator()(rd_kafka_mock_cluster_t* what) const {
            ::rd_kafka_mock_cluster_destroy(what);
        }
    };
    raw_kafka handle_;
    std::unique_ptr<rd_kafka_mock_cluster_t, closer> cluster_;
};

kafka::transaction_batch one_with_mark() {
    auto batch = batch_of("topic", {"value"});
    batch.last = kafka::record("other", "mark", "1");
    return batch;
}

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
        stand_in broker;
        kafka_user producer(broker.config(), "id");
        ASSERT_FALSE(producer.init());
        broker.answer(each.at, each.code);
        const auto outcome = producer.run(one_with_mark());
        EXPECT_EQ(outcome.what, each.expected)
            << to_string(outcome.what) << ": " << outcome.code.message() << "; " << outcome.text;
        EXPECT_EQ(outcome.refused.empty(), outcome.what != kind::refused);
        // What is not lost works on; what is lost stays so.
        const auto next = producer.run(one_with_mark());
        EXPECT_EQ(next.what, each.expected == kind::lost ? kind::lost : kind::committed)
            << to_string(next.what) << ": " << next.code.message() << "; " << next.text;
    }
}

TEST(KafkaInjected, ATopicThatMayNotBeWrittenToIsFoundAmongSeveral) {
    stand_in broker;
    kafka_user producer(broker.config(), "id");
    ASSERT_FALSE(producer.init());
    // Of the batch, and then of its topics one by one, in the order of their names.
    broker.answer(request::add_partitions, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 2);
    const auto outcome = producer.run(one_with_mark());
    ASSERT_EQ(outcome.what, kind::refused) << to_string(outcome.what) << outcome.text;
    ASSERT_EQ(outcome.refused.size(), 1u);
    EXPECT_EQ(outcome.refused[0].index, 1u);
    EXPECT_EQ(outcome.refused[0].code, kafka::condition::not_authorized);
    EXPECT_EQ(producer.run(one_with_mark()).what, kind::committed);
}

TEST(KafkaInjected, ErrorsOfInitAreToldApart) {
    stand_in broker;
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
