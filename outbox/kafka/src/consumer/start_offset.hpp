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

/// From where a partition is to be read.
class start_offset {
public:
    start_offset() = default;  // declared: no aggregate (docs/compilers.md, G3)
    start_offset(topic_partition which, std::optional<std::int64_t> next)
        : of(std::move(which)), wanted(next) {}

    topic_partition of;
    std::optional<std::int64_t> wanted;  ///< None: nothing of it was ever dealt with.
    std::string note;     ///< What the group keeps together with its offset, if it was asked.
    bool barred = false;  ///< It is not to be read: `fault` and `text` say why.
    bool claim = false;   ///< The group is to be told at once, also where nothing was dealt with.

    // What `take` makes of it.

    bool read = false;        ///< Whether it is read now.
    std::int64_t begin = -1;  ///< From where; negative: librdkafka's beginning or end.
    error_code fault;         ///< Why it is not read, or why something was passed over.
    std::string text;         ///< What more can be said of that.
    std::int64_t low = -1;    ///< Its beginning,
    std::int64_t high = -1;   ///< and the end of what is committed, if they were asked for.
};

}  // namespace mortise::kafka

#endif
