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

namespace mortise::kafka {

/// What a processor made of a batch, and of which records it cannot make anything: these become
/// dead letters, or their partitions stop there. The records it was made of outlive it.
class made_batch {
public:
    /// Nothing can be made of a record.
    struct failure {
        const consumed_record* of = nullptr;
        error_code code;
        std::string why;
    };

    /// @param dead_letter_topic empty: there are none.
    explicit made_batch(std::string dead_letter_topic)
        : dead_letter_topic_(std::move(dead_letter_topic)) {}

    /// Whether its partition has stopped before it: it is not for this batch.
    bool stopped_before(const consumed_record& what) const;

    // One of these for each record, in their order.
    void add(const consumed_record& what, std::vector<record> made);
    void give_up(const consumed_record& what, error_code code, std::string why);

    /// Kafka will never take these of `records()`: what they were made of is given up.
    /// @return whether that changes anything. A topic that is missing or forbidden is nobody's
    /// fault here.
    bool refuse(const std::vector<refused_record>& which);

    std::vector<record> records() const;
    /// The last record of each partition that this deals with.
    std::map<topic_partition, std::int64_t> dealt_with() const;
    std::vector<failure> dead_letters() const;
    const std::map<topic_partition, failure>& stops() const noexcept { return stops_; }

private:
    struct entry {
        const consumed_record* of;
        std::vector<record> made;
        bool dead = false;
        failure why;
    };

    void give_up(entry& what, error_code code, std::string why);
    void drop_what_is_behind_stops();

    const std::string dead_letter_topic_;
    std::vector<entry> entries_;
    std::map<topic_partition, failure> stops_;
};

}  // namespace mortise::kafka

#endif
