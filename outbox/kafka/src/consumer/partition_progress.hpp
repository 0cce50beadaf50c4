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

/// How far a partition is: read, delivered, and told to the group.
class partition_progress {
public:
    enum class state : std::uint8_t { given, reading, refused, leaving };

    partition_progress() = default;

    state at = state::given;
    std::int64_t read = -1;  ///< Behind the last record that was read.
    std::int64_t done = -1;  ///< Behind the last record that was dealt with.
    std::int64_t end = -1;   ///< Nothing to be read comes before.
    std::int64_t told = -1;
    std::int64_t claimed = -1;  ///< Where nothing was dealt with yet: the group is told this much.

    /// Where to go on when all up to there is dealt with: where that is all that was read, behind
    /// what comes next and is no record (the ends of transactions).
    std::int64_t next_after(std::int64_t dealt_with) const noexcept {
        return read <= dealt_with ? std::max(dealt_with, end) : dealt_with;
    }

    /// What the group is to be told, if that is news. The note says what was dealt with, by whom.
    std::optional<group_offset> news(const topic_partition& which, const std::string& owner) {
        const std::int64_t next = done < 0 ? claimed : next_after(done);
        if (next < 0 || next <= told)
            return std::nullopt;
        told = next;
        offset_note note;
        note.dealt_with = done;
        note.owner = owner;
        group_offset made;
        made.of = which;
        made.next = told;
        made.note = note.text();
        return made;
    }
};

}  // namespace mortise::kafka

#endif
