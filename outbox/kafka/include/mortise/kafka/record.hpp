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

/// A record to produce. An absent key or value is Kafka's null, which differs from empty text.
class record {
public:
    record() = default;
    record(std::string to, std::optional<std::string> keyed, std::optional<std::string> that)
        : topic(std::move(to)), key(std::move(keyed)), value(std::move(that)) {}

    std::string topic;
    std::optional<std::string> key;
    std::optional<std::string> value;
    std::vector<record_header> headers;

    /// Absent: chosen by the key, according to the setting `partitioner`.
    std::optional<std::int32_t> partition;

    /// Milliseconds since 1970; absent: now.
    std::optional<std::int64_t> timestamp;
};

/// The position of a record in its topic.
struct record_position {
    std::int32_t partition = -1;
    std::int64_t offset = -1;
};

}  // namespace mortise::kafka

#endif
