// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_KAFKA_SINK_HPP
#define MORTISE_KAFKA_KAFKA_SINK_HPP

#include "mortise/kafka/kafka_config.hpp"
#include "mortise/outbox/sink.hpp"

#include <string>
#include <utility>

namespace mortise::kafka {

/// Where messages of an outbox go, and where the marks are that say how far they went.
class kafka_sink_config {
public:
    kafka_sink_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    explicit kafka_sink_config(kafka_config to) : cluster(std::move(to)) {}

    kafka_config cluster;

    /// The compacted topic of the marks, and how many partitions and copies it has; -1: as the
    /// brokers are set. With at least as many partitions as shards no shard waits for another.
    std::string progress_topic = "mortise.progress";
    int progress_partitions = 16;
    int progress_replicas = -1;

    /// Whether the progress topic is made if it is not there, and looked at if it is. Without, it
    /// has to be there, compacted, with that number of partitions.
    bool make_progress_topic = true;

    /// The transactional id of a shard is "PREFIX.TABLE.SHARD": 1 to 100 bytes. Brokers can allow
    /// ids by their prefix. Only relays with the same prefix fence each other: to one with another
    /// prefix, or another number of progress partitions, the table is refused (`foreign_sink`).
    std::string id_prefix = "mortise";

    /// The header with the id of the message; empty: none.
    std::string id_header = "mortise-id";
};

/// A sink that publishes each message to Kafka exactly once, and in order.
///
/// A batch and its mark are one transaction. Whoever opens the shard fences the one before at the
/// brokers, has its last transaction settled, and only then reads the mark. Consumers have to read
/// with `isolation.level=read_committed`, which is the default of librdkafka and not of Java.
///
/// A message goes to its topic with its key and payload, its headers and one more with its id, and
/// the time when it was appended.
///
/// @throws mortise::error (`bad_config`) that names the setting, and never shows a secret
/// @par Cost Each shard has a connection, and some seven threads while it is open.
outbox::sink_factory make_kafka_sink(kafka_sink_config config);

}  // namespace mortise::kafka

#endif
