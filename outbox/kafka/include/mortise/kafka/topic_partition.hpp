// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_TOPIC_PARTITION_HPP
#define MORTISE_KAFKA_TOPIC_PARTITION_HPP

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

namespace mortise::kafka {

/// A partition of a topic.
class topic_partition {
public:
    topic_partition() = default;  // declared: no aggregate (docs/compilers.md, G3)
    topic_partition(std::string of, std::int32_t number)
        : topic(std::move(of)), partition(number) {}
    friend auto operator<=>(const topic_partition&, const topic_partition&) = default;

    std::string topic;
    std::int32_t partition = -1;
};

}  // namespace mortise::kafka

#endif
