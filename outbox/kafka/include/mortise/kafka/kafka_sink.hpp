// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_KAFKA_SINK_HPP
#define MORTISE_KAFKA_KAFKA_SINK_HPP

#include "mortise/kafka/kafka_config.hpp"
#include "mortise/outbox/sink.hpp"

#include <string>
#include <utility>

namespace mortise::kafka {

/// Where the messages of an outbox go, and where their marks are stored.
class kafka_sink_config {
public:
    kafka_sink_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    explicit kafka_sink_config(kafka_config to) : cluster(std::move(to)) {}

    kafka_config cluster;

    /// The compacted topic of the marks, and its numbers of partitions and copies; -1: the default
    /// of the brokers. With at least as many partitions as shards, no shard waits for another.
    std::string progress_topic = "mortise.progress";
    int progress_partitions = 16;
    int progress_replicas = -1;

    /// Whether the progress topic is created if it is missing, and checked if it exists. If false,
    /// it must exist, be compacted, and have that number of partitions.
    bool make_progress_topic = true;

    /// The transactional id of a shard is "PREFIX.TABLE.SHARD"; the prefix has 1 to 100 bytes.
    /// Brokers can permit ids by their prefix. Only relays with the same prefix fence each other.
    /// So a relay with another prefix, or another number of progress partitions, refuses the table
    /// (`foreign_sink`).
    std::string id_prefix = "mortise";

    /// The header with the id of the message; empty: none.
    std::string id_header = "mortise-id";
};

/// A sink that publishes each message to Kafka exactly once, and in order.
///
/// A batch and its mark are one transaction. Opening the shard fences its earlier user at the
/// brokers, settles the last transaction of that user, and only then reads the mark. Consumers must
/// read with `isolation.level=read_committed`: the default of librdkafka, but not of Java.
///
/// A message goes to its topic with its key, payload and headers, one more header with its id, and
/// the time of its append.
///
/// @throws mortise::error (`bad_config`) that names the setting, and never shows a secret
/// @par Cost Each shard has a connection, and some seven threads while it is open.
outbox::sink_factory make_kafka_sink(kafka_sink_config config);

}  // namespace mortise::kafka

#endif
