// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_CONSUMER_CONSUMER_REPORT_HPP
#define MORTISE_KAFKA_SRC_CONSUMER_CONSUMER_REPORT_HPP

#include "mortise/error.hpp"
#include "mortise/kafka/consumed_record.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mortise::kafka {

/// How far a partition was dealt with, as the group is told.
class group_offset {
public:
    group_offset() = default;  // declared: no aggregate (docs/compilers.md, G3)

    topic_partition of;
    std::int64_t next = -1;
    std::string note;  ///< Kept together with it.
};

/// The group gives these partitions to the consumer, or takes them back. Either has to be answered:
/// by `take` or `release`.
class group_change {
public:
    group_change() = default;  // declared: no aggregate (docs/compilers.md, G3)
    group_change(bool gives, std::vector<topic_partition> these)
        : given(gives), which(std::move(these)) {}

    bool given = false;
    std::vector<topic_partition> which;
};

/// Something that did not work. librdkafka goes on by itself, unless the report says `lost`.
class consumer_failure {
public:
    consumer_failure() = default;  // declared: no aggregate (docs/compilers.md, G3)

    topic_partition at;  ///< Without a topic: all of the consumer.
    error_code code;
    std::string text;
};

/// What a turn of a consumer brought.
class consumer_report {
public:
    consumer_report() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::vector<consumed_record> records;
    std::vector<group_change> changes;  ///< Later than the records.
    /// Nothing that can be read comes before that offset any more.
    std::vector<std::pair<topic_partition, std::int64_t>> ends;
    std::vector<topic_partition> unsure;  ///< Not read any more: their offset is not there.
    std::vector<consumer_failure> failures;
    bool lost = false;  ///< The consumer has to be replaced.

    bool empty() const noexcept {
        return records.empty() && changes.empty() && ends.empty() && unsure.empty() &&
               failures.empty() && !lost;
    }
};

}  // namespace mortise::kafka

#endif
