// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_PROCESSOR_MADE_BATCH_HPP
#define MORTISE_KAFKA_SRC_PROCESSOR_MADE_BATCH_HPP

#include "mortise/kafka/consumed_record.hpp"
#include "mortise/kafka/record.hpp"
#include "mortise/kafka/topic_partition.hpp"
#include "mortise/kafka/transaction_outcome.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mortise::kafka::detail {

/// The records that a processor made from a batch. Records of which nothing can be made become dead
/// letters, or stop their partitions. The consumed records must outlive the object.
class made_batch {
public:
    /// The reason why nothing can be made of a record.
    struct failure {
        const consumed_record* of = nullptr;
        error_code code;
        std::string why;
    };

    /// @param dead_letter_topic Empty: no dead letters.
    explicit made_batch(std::string dead_letter_topic)
        : dead_letter_topic_(std::move(dead_letter_topic)) {}

    /// Whether the partition of this record stopped before it: it is not for this batch.
    bool stopped_before(const consumed_record& source) const;

    // Call one of these for each record, in order.
    void add(const consumed_record& source, std::vector<record> products);
    void give_up(const consumed_record& source, error_code code, std::string why);

    /// Gives up the consumed records of which Kafka will never take these members of `records()`.
    /// @return whether that changes anything. A missing or forbidden topic is no record's fault
    ///         here.
    bool refuse(const std::vector<refused_record>& rejections);

    std::vector<record> records() const;
    /// The last record of each partition that this batch handles.
    std::map<topic_partition, std::int64_t> dealt_with() const;
    std::vector<failure> dead_letters() const;
    const std::map<topic_partition, failure>& stops() const noexcept { return stops_; }

private:
    struct entry {
        const consumed_record* of;
        std::vector<record> products;
        bool dead = false;
        failure why;
    };

    void give_up(entry& item, error_code code, std::string why);
    void drop_what_is_behind_stops();

    const std::string dead_letter_topic_;
    std::vector<entry> entries_;
    std::map<topic_partition, failure> stops_;
};

}  // namespace mortise::kafka::detail

#endif
