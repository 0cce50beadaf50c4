// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_CONSUMER_CONSUMER_REPORT_HPP
#define MORTISE_KAFKA_SRC_CONSUMER_CONSUMER_REPORT_HPP

#include "mortise/error.hpp"
#include "mortise/kafka/consumed_record.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mortise::kafka::detail {

/// The group gives these partitions to the consumer, or takes them back. `take` or `release` must
/// answer.
class group_change {
public:
    group_change() = default;  // declared: no aggregate (docs/compilers.md, G3)
    group_change(bool gives, std::vector<topic_partition> all)
        : given(gives), partitions(std::move(all)) {}

    bool given = false;
    std::vector<topic_partition> partitions;
};

/// A failure. librdkafka goes on by itself, unless the report says `lost`.
class consumer_failure {
public:
    consumer_failure() = default;  // declared: no aggregate (docs/compilers.md, G3)

    topic_partition at;  ///< Without a topic: the whole consumer.
    error_code code;
    std::string text;
};

/// The result of a consumer's turn.
class consumer_report {
public:
    consumer_report() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::vector<consumed_record> records;
    std::vector<group_change> changes;  ///< They happened after the records.
    /// No record before that offset is still to come.
    std::vector<std::pair<topic_partition, std::int64_t>> ends;
    std::vector<topic_partition> unsure;  ///< No longer read: their offset does not exist.
    std::vector<consumer_failure> failures;
    bool lost = false;  ///< The consumer must be replaced.

    bool empty() const noexcept {
        return records.empty() && changes.empty() && ends.empty() && unsure.empty() &&
               failures.empty() && !lost;
    }
};

}  // namespace mortise::kafka::detail

#endif
