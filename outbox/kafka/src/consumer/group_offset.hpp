// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_CONSUMER_GROUP_OFFSET_HPP
#define MORTISE_KAFKA_SRC_CONSUMER_GROUP_OFFSET_HPP

#include "mortise/error.hpp"
#include "mortise/kafka/topic_partition.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mortise::kafka::detail {

/// The position in a partition that is told to the group.
class group_offset {
public:
    group_offset() = default;  // declared: no aggregate (docs/compilers.md, G3)

    topic_partition of;
    std::int64_t next = -1;
    std::string note;  ///< Stored by the group with the offset.
};

/// The note that a group stores with an offset: "NEXT OWNER". Older versions omitted the owner.
class offset_note {
public:
    offset_note() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// Behind the last record that was handled; -1: none was yet.
    std::int64_t dealt_with = -1;
    std::string owner;  ///< The identity of the inbox; empty: unknown.

    std::string text() const {
        std::string text = std::to_string(dealt_with);
        if (!owner.empty())
            text += ' ' + owner;
        return text;
    }

    /// Reads a note; -1 and no owner for the text of another program.
    static offset_note parse(std::string_view text) {
        offset_note note;
        const std::string_view number = text.substr(0, text.find(' '));
        std::int64_t found = -1;
        const auto [end, wrong] =
            std::from_chars(number.data(), number.data() + number.size(), found);
        if (number.empty() || wrong != std::errc() || end != number.data() + number.size())
            return note;
        note.dealt_with = found;
        if (number.size() < text.size())
            note.owner = text.substr(number.size() + 1);
        return note;
    }
};

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

}  // namespace mortise::kafka::detail

#endif
