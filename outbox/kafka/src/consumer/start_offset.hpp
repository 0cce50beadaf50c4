// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_CONSUMER_START_OFFSET_HPP
#define MORTISE_KAFKA_SRC_CONSUMER_START_OFFSET_HPP

#include "mortise/error.hpp"
#include "mortise/kafka/topic_partition.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace mortise::kafka {

/// Where to begin to read a partition.
class start_offset {
public:
    start_offset() = default;  // declared: no aggregate (docs/compilers.md, G3)
    start_offset(topic_partition partition, std::optional<std::int64_t> next)
        : of(std::move(partition)), wanted(next) {}

    topic_partition of;
    std::optional<std::int64_t> wanted;  ///< None: no record was ever handled.
    std::string note;       ///< The note beside the group's offset, if it was asked for.
    bool barred = false;    ///< Do not read it: `fault` and `text` say why.
    bool announce = false;  ///< Tell the group whose it is, before any record is handled.

    // Set by `take`:

    bool read = false;        ///< Whether it is read now.
    std::int64_t begin = -1;  ///< The first offset; negative: librdkafka's beginning or end.
    error_code fault;         ///< Why it is not read, or why records were passed over.
    std::string text;         ///< More about `fault`.
    std::int64_t low = -1;    ///< The beginning of the partition,
    std::int64_t high = -1;   ///< and the end of what is committed, if asked for.
};

}  // namespace mortise::kafka

#endif
