// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_TOPIC_WISH_HPP
#define MORTISE_KAFKA_TOPIC_WISH_HPP

#include <map>
#include <string>
#include <utility>

namespace mortise::kafka {

/// The properties that a topic must have.
class topic_wish {
public:
    topic_wish() = default;  // declared: no aggregate (docs/compilers.md, G3)
    topic_wish(std::string called, int parts) : name(std::move(called)), partitions(parts) {}

    std::string name;
    int partitions = 1;  ///< An existing topic must have as many.

    /// Copies of each partition; -1: the default of the brokers. Not checked for an existing topic.
    int replicas = -1;

    /// Keeps the newest record of each key for ever. An existing topic must be compacted, too.
    bool compacted = false;

    /// Other settings for a new topic, by Kafka's own names.
    std::map<std::string, std::string> settings;
};

}  // namespace mortise::kafka

#endif
