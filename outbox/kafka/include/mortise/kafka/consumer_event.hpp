// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_CONSUMER_EVENT_HPP
#define MORTISE_KAFKA_CONSUMER_EVENT_HPP

#include "mortise/error.hpp"
#include "mortise/kafka/topic_partition.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::kafka {

/// An event of a consumer, or of one of its partitions.
class consumer_event {
public:
    enum class kind : std::uint8_t {
        assigned,     ///< The partition is read from `offset`; negative: by `auto.offset.reset`.
        revoked,      ///< The group took it back; nothing of it is under way any longer.
        refused,      ///< It is not read until an operator has acted: `code`, `text`.
        skipped,      ///< Retention removed unhandled records: it is read from `offset` on.
        failed,       ///< An operation failed and is tried again: `code`, `text`.
        ended,        ///< The inbox stopped, so its consumer has left the group: `code`. Or
                      ///< it lacks memory or threads to go on: `text`; make a new one.
        noticed,      ///< A topic that is written to has more partitions now: `text`.
        dead_letter,  ///< The record at `offset` went to the dead-letter topic: `text`.
    };

    consumer_event() = default;  // declared: no aggregate (docs/compilers.md, G3)

    kind type = kind::failed;
    topic_partition at;  ///< Without a topic: the whole consumer.
    std::int64_t offset = -1;
    error_code code;
    std::string text;
};

std::string_view to_string(consumer_event::kind kind) noexcept;

}  // namespace mortise::kafka

#endif
