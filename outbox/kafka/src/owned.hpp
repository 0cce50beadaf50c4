// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_OWNED_HPP
#define MORTISE_KAFKA_SRC_OWNED_HPP

#include <librdkafka/rdkafka.h>

#include <memory>

namespace mortise::kafka {

struct closer {
    void operator()(rd_kafka_conf_t* what) const noexcept { ::rd_kafka_conf_destroy(what); }
    void operator()(rd_kafka_topic_t* what) const noexcept { ::rd_kafka_topic_destroy(what); }
    void operator()(rd_kafka_message_t* what) const noexcept { ::rd_kafka_message_destroy(what); }
    void operator()(rd_kafka_queue_t* what) const noexcept { ::rd_kafka_queue_destroy(what); }
    void operator()(rd_kafka_event_t* what) const noexcept { ::rd_kafka_event_destroy(what); }
    void operator()(rd_kafka_error_t* what) const noexcept { ::rd_kafka_error_destroy(what); }
    void operator()(rd_kafka_headers_t* what) const noexcept { ::rd_kafka_headers_destroy(what); }
    void operator()(rd_kafka_NewTopic_t* what) const noexcept { ::rd_kafka_NewTopic_destroy(what); }
    void operator()(rd_kafka_AdminOptions_t* what) const noexcept {
        ::rd_kafka_AdminOptions_destroy(what);
    }
    void operator()(rd_kafka_ConfigResource_t* what) const noexcept {
        ::rd_kafka_ConfigResource_destroy(what);
    }
    void operator()(rd_kafka_topic_partition_list_t* what) const noexcept {
        ::rd_kafka_topic_partition_list_destroy(what);
    }
    void operator()(rd_kafka_consumer_group_metadata_t* what) const noexcept {
        ::rd_kafka_consumer_group_metadata_destroy(what);
    }
    void operator()(const rd_kafka_metadata_t* what) const noexcept {
        ::rd_kafka_metadata_destroy(what);
    }
};

/// Owns an object of librdkafka.
template <class Object>
using owned = std::unique_ptr<Object, closer>;

}  // namespace mortise::kafka

#endif
