// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_TOPIC_WISH_HPP
#define MORTISE_KAFKA_TOPIC_WISH_HPP

#include <map>
#include <string>
#include <utility>

namespace mortise::kafka {

/// What a topic should be.
class topic_wish {
public:
    topic_wish() = default;  // declared: no aggregate (docs/compilers.md, G3)
    topic_wish(std::string called, int parts) : name(std::move(called)), partitions(parts) {}

    std::string name;
    int partitions = 1;  ///< One that exists must have as many.

    /// Copies of each partition; -1: as many as the brokers are set to. Where the topic exists it
    /// is not looked at.
    int replicas = -1;

    /// Of each key the newest record is kept for ever. One that exists must be so, too.
    bool compacted = false;

    /// Other settings of a topic that is made, by Kafka's own names.
    std::map<std::string, std::string> settings;
};

}  // namespace mortise::kafka

#endif
