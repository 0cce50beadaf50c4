// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_CONSUMER_PARTITION_PROGRESS_HPP
#define MORTISE_KAFKA_SRC_CONSUMER_PARTITION_PROGRESS_HPP

#include "consumer/consumer_report.hpp"
#include "consumer/offset_note.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace mortise::kafka {

/// How far a partition was read, delivered, and told to the group.
class partition_progress {
public:
    enum class state : std::uint8_t { given, reading, refused, leaving };

    partition_progress() = default;

    state at = state::given;
    std::int64_t read = -1;  ///< Behind the last record that was read.
    std::int64_t done = -1;  ///< Behind the last record that was handled.
    std::int64_t end = -1;   ///< No record is left before it.
    std::int64_t reported = -1;
    std::int64_t first = -1;   ///< Where it begins, if no record was ever handled.
    bool is_announced = true;  ///< The group knows whose it is, or does not have to.

    /// The next offset once everything before `dealt_with` is handled. If that is all that was
    /// read, it lies behind the offsets without records that follow (the ends of transactions).
    std::int64_t next_after(std::int64_t dealt_with) const noexcept {
        return read <= dealt_with ? std::max(dealt_with, end) : dealt_with;
    }

    /// What the group can be told. The note says what was handled, and by whom.
    group_offset position(const topic_partition& partition, const std::string& owner) const {
        offset_note note;
        note.dealt_with = done;
        note.owner = owner;
        group_offset offset;
        offset.of = partition;
        offset.next = done < 0 ? first : next_after(done);
        offset.note = note.text();
        return offset;
    }

    /// The same, if it is new and something was handled.
    std::optional<group_offset> news(const topic_partition& partition, const std::string& owner) {
        if (done < 0 || next_after(done) <= reported)
            return std::nullopt;
        group_offset offset = position(partition, owner);
        reported = offset.next;
        return offset;
    }
};

}  // namespace mortise::kafka

#endif
