// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_OWNED_HPP
#define MORTISE_KAFKA_SRC_OWNED_HPP

#include <librdkafka/rdkafka.h>

#include <memory>

namespace mortise::kafka::detail {

struct closer {
    void operator()(rd_kafka_conf_t* object) const noexcept { ::rd_kafka_conf_destroy(object); }
    void operator()(rd_kafka_topic_t* client) const noexcept { ::rd_kafka_topic_destroy(client); }
    void operator()(rd_kafka_message_t* object) const noexcept {
        ::rd_kafka_message_destroy(object);
    }
    void operator()(rd_kafka_queue_t* object) const noexcept { ::rd_kafka_queue_destroy(object); }
    void operator()(rd_kafka_event_t* object) const noexcept { ::rd_kafka_event_destroy(object); }
    void operator()(rd_kafka_error_t* object) const noexcept { ::rd_kafka_error_destroy(object); }
    void operator()(rd_kafka_headers_t* object) const noexcept {
        ::rd_kafka_headers_destroy(object);
    }
    void operator()(rd_kafka_NewTopic_t* object) const noexcept {
        ::rd_kafka_NewTopic_destroy(object);
    }
    void operator()(rd_kafka_AdminOptions_t* object) const noexcept {
        ::rd_kafka_AdminOptions_destroy(object);
    }
    void operator()(rd_kafka_ConfigResource_t* object) const noexcept {
        ::rd_kafka_ConfigResource_destroy(object);
    }
    void operator()(rd_kafka_topic_partition_list_t* client) const noexcept {
        ::rd_kafka_topic_partition_list_destroy(client);
    }
    void operator()(rd_kafka_consumer_group_metadata_t* object) const noexcept {
        ::rd_kafka_consumer_group_metadata_destroy(object);
    }
    void operator()(const rd_kafka_metadata_t* object) const noexcept {
        ::rd_kafka_metadata_destroy(object);
    }
};

/// Owns an object of librdkafka.
template <class Object>
using owned = std::unique_ptr<Object, closer>;

}  // namespace mortise::kafka::detail

#endif
