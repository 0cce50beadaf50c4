// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_KAFKA_MOCK_CLUSTER_HPP
#define MORTISE_TESTS_UNIT_KAFKA_MOCK_CLUSTER_HPP

#include "mortise/kafka/kafka_config.hpp"
#include "mortise/kafka/transaction_outcome.hpp"
#include "support/raw_kafka.hpp"
#include "unit/kafka/kafka_user.hpp"

#include <librdkafka/rdkafka_mock.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// librdkafka's stand-in for a broker, with the topics "topic" and "other". It has no isolation and
/// fences nobody, but gives the errors and the delays that a test wants.
///
/// @par Threads Any, where the members say nothing else.
class mock_cluster {
public:
    // Kafka's numbers of its requests.
    enum class request : std::int16_t {
        produce = 0,
        offset_commit = 8,
        init_producer_id = 22,
        add_partitions = 24,
        end_transaction = 26,
    };

    mock_cluster()
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

    /// Every answer takes so long.
    void delay_answers(int milliseconds) {
        check_raw_kafka(::rd_kafka_mock_broker_set_rtt(cluster_.get(), -1, milliseconds));
    }

    /// Sets the error in the metadata of the topic "topic"; 0: none.
    void tell_of_topic(int code) {
        ::rd_kafka_mock_topic_set_error(
            cluster_.get(), "topic", static_cast<rd_kafka_resp_err_t>(code)
        );
    }

    kafka::kafka_config config() const {
        kafka::kafka_config config(::rd_kafka_mock_cluster_bootstraps(cluster_.get()));
        config.settings = {{"linger.ms", "0"}};
        return config;
    }

private:
    struct closer {
        void operator()(rd_kafka_mock_cluster_t* cluster) const {
            ::rd_kafka_mock_cluster_destroy(cluster);
        }
    };
    raw_kafka handle_;
    std::unique_ptr<rd_kafka_mock_cluster_t, closer> cluster_;
};

inline kafka::transaction_batch one_with_mark() {
    auto batch = batch_of("topic", {"value"});
    batch.last = kafka::record("other", "mark", "1");
    return batch;
}

}  // namespace mortise::test

#endif
