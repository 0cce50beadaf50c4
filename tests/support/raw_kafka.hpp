// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_RAW_KAFKA_HPP
#define MORTISE_TESTS_SUPPORT_RAW_KAFKA_HPP

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// librdkafka as it is, with its objects owned and its failures thrown.
struct raw_kafka_closer {
    void operator()(rd_kafka_t* client) const { ::rd_kafka_destroy(client); }
    void operator()(rd_kafka_topic_t* topic) const { ::rd_kafka_topic_destroy(topic); }
    void operator()(rd_kafka_message_t* message) const { ::rd_kafka_message_destroy(message); }
    void operator()(rd_kafka_queue_t* queue) const { ::rd_kafka_queue_destroy(queue); }
    void operator()(rd_kafka_event_t* event) const { ::rd_kafka_event_destroy(event); }
    void operator()(rd_kafka_NewTopic_t* topic) const { ::rd_kafka_NewTopic_destroy(topic); }
    void operator()(rd_kafka_DeleteTopic_t* topic) const { ::rd_kafka_DeleteTopic_destroy(topic); }
    void operator()(rd_kafka_AdminOptions_t* options) const {
        ::rd_kafka_AdminOptions_destroy(options);
    }
    void operator()(const rd_kafka_metadata_t* metadata) const {
        ::rd_kafka_metadata_destroy(metadata);
    }
};
template <class Object>
using raw_kafka_owned = std::unique_ptr<Object, raw_kafka_closer>;
using raw_kafka = raw_kafka_owned<rd_kafka_t>;

using raw_kafka_settings = std::vector<std::pair<std::string, std::string>>;

/// A handle whose logs go nowhere. @throws std::runtime_error
raw_kafka open_raw_kafka(
    rd_kafka_type_t type, const std::string& address, const raw_kafka_settings& settings = {}
);

/// A producer that sends a record again when an answer is lost, and yet writes it once.
raw_kafka open_raw_producer(const std::string& address, raw_kafka_settings settings = {});

/// @throws std::runtime_error with its text, if there is an error; destroys it
void check_raw_kafka(rd_kafka_error_t* error);
void check_raw_kafka(rd_kafka_resp_err_t code);

/// Asks the cluster for its metadata, or for that of one topic; null if it does not answer in time.
raw_kafka_owned<const rd_kafka_metadata_t>
raw_kafka_metadata(const raw_kafka& handle, rd_kafka_topic_t* topic, int limit_ms);

/// Writes one record, which is acknowledged when this returns. @throws std::runtime_error
void raw_kafka_produce(
    const raw_kafka& handle,
    const std::string& topic,
    std::int32_t partition,
    const std::string& key,
    const std::string& value
);

}  // namespace mortise::test

#endif
