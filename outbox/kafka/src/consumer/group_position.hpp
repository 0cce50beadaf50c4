// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_CONSUMER_GROUP_POSITION_HPP
#define MORTISE_KAFKA_SRC_CONSUMER_GROUP_POSITION_HPP

#include "consumer/consumer_core.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace mortise::kafka::detail {

/// The offsets of a group member, to be committed in a transaction.
class group_position {
public:
    group_position(std::shared_ptr<consumer_core> of, std::vector<group_offset> offsets)
        : member_(std::move(of)), offsets_(std::move(offsets)) {}

    /// The present membership in the group; none if the assignment is lost.
    owned<rd_kafka_consumer_group_metadata_t> metadata() const { return member_->group_metadata(); }
    owned<rd_kafka_topic_partition_list_t> list() const {
        owned<rd_kafka_topic_partition_list_t> partitions(
            ::rd_kafka_topic_partition_list_new(static_cast<int>(offsets_.size()))
        );
        for (const group_offset& each : offsets_)
            ::rd_kafka_topic_partition_list_add(
                partitions.get(), each.of.topic.c_str(), each.of.partition
            )
                ->offset = each.next;
        return partitions;
    }

private:
    const std::shared_ptr<consumer_core> member_;
    const std::vector<group_offset> offsets_;
};

}  // namespace mortise::kafka::detail

#endif
