// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_RECORD_HPP
#define MORTISE_KAFKA_RECORD_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::kafka {

/// One header of a record. Names may repeat; an absent value is Kafka's null.
class record_header {
public:
    record_header() = default;  // declared: no aggregate (docs/compilers.md, G3)
    record_header(std::string named, std::optional<std::string> that)
        : name(std::move(named)), value(std::move(that)) {}

    std::string name;
    std::optional<std::string> value;
};

/// One record to produce. An absent key or value is Kafka's null, which is not the empty text.
class record {
public:
    record() = default;
    record(std::string to, std::optional<std::string> keyed, std::optional<std::string> that)
        : topic(std::move(to)), key(std::move(keyed)), value(std::move(that)) {}

    std::string topic;
    std::optional<std::string> key;
    std::optional<std::string> value;
    std::vector<record_header> headers;

    /// Absent: chosen by the key, as the setting `partitioner` says.
    std::optional<std::int32_t> partition;

    /// Milliseconds since 1970; absent: now.
    std::optional<std::int64_t> timestamp;
};

/// Where a record is.
struct record_position {
    std::int32_t partition = -1;
    std::int64_t offset = -1;
};

}  // namespace mortise::kafka

#endif
