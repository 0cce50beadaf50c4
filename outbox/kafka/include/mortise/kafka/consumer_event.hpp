// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_CONSUMER_EVENT_HPP
#define MORTISE_KAFKA_CONSUMER_EVENT_HPP

#include "mortise/error.hpp"
#include "mortise/kafka/topic_partition.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::kafka {

/// Something that happened to a consumer, or to a partition of it.
class consumer_event {
public:
    enum class kind : std::uint8_t {
        assigned,     ///< The partition is read from `offset` on; negative: `auto.offset.reset`.
        revoked,      ///< The group has taken it back; nothing of it is under way any more.
        refused,      ///< It is not read until people have seen to it: `code`, `text`.
        skipped,      ///< Retention removed what was not dealt with: it is read from `offset` on.
        failed,       ///< Something did not work, and is tried again: `code`, `text`.
        ended,        ///< An inbox takes no more, so its consumer has left the group: `code`. Or
                      ///< it cannot go on, for want of memory or threads: `text`; make a new one.
        noticed,      ///< A topic that is written to has more partitions than before: `text`.
        dead_letter,  ///< The record at `offset` went to the dead-letter topic: `text`.
    };

    consumer_event() = default;  // declared: no aggregate (docs/compilers.md, G3)

    kind what = kind::failed;
    topic_partition at;  ///< Without a topic: all of the consumer.
    std::int64_t offset = -1;
    error_code code;
    std::string text;
};

std::string_view to_string(consumer_event::kind what) noexcept;

}  // namespace mortise::kafka

#endif
