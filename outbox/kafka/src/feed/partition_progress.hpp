// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_FEED_PARTITION_PROGRESS_HPP
#define MORTISE_KAFKA_SRC_FEED_PARTITION_PROGRESS_HPP

#include "consumer/consumer_report.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace mortise::kafka {

/// How far a partition is: read, delivered, and told to the group.
class partition_progress {
public:
    enum class state : std::uint8_t { given, reading, refused, leaving };

    partition_progress() = default;

    state at = state::given;
    std::string source;
    std::int64_t read = -1;       ///< Behind the last record that was read.
    std::int64_t delivered = -1;  ///< Behind the last record that the inbox has.
    std::int64_t end = -1;        ///< Nothing to be read comes before.
    std::int64_t told = -1;

    /// What the group is to be told, if that is news. Where all records are dealt with it is what
    /// comes behind them, which may not be a record; the note says what the inbox has.
    std::optional<group_offset> news(const topic_partition& which) {
        if (delivered < 0)
            return std::nullopt;
        const std::int64_t next = read <= delivered ? std::max(delivered, end) : delivered;
        if (next <= told)
            return std::nullopt;
        told = next;
        group_offset made;
        made.of = which;
        made.next = next;
        made.note = std::to_string(delivered);
        return made;
    }
};

}  // namespace mortise::kafka

#endif
