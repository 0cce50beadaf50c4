// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_CONSUMED_RECORD_HPP
#define MORTISE_KAFKA_CONSUMED_RECORD_HPP

#include "mortise/kafka/record.hpp"
#include "mortise/kafka/topic_partition.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::kafka {

/// A record that a consumer received. An absent key or value is Kafka's null.
class consumed_record {
public:
    consumed_record() = default;  // declared: no aggregate (docs/compilers.md, G3)

    topic_partition from;
    std::int64_t offset = -1;
    std::optional<std::string> key;
    std::optional<std::string> value;
    std::vector<record_header> headers;
    std::int64_t timestamp = -1;  ///< Milliseconds since 1970; -1: it has none.
};

}  // namespace mortise::kafka

#endif
