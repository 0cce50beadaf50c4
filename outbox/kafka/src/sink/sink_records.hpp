// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_SINK_SINK_RECORDS_HPP
#define MORTISE_KAFKA_SRC_SINK_SINK_RECORDS_HPP

#include "mortise/kafka/kafka_sink.hpp"
#include "mortise/kafka/transaction_outcome.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace mortise::kafka {

/// Where the mark of a shard is kept: by this key, in this partition of the progress topic.
std::string mark_key(const std::string& table, std::uint32_t shard);
std::int32_t mark_partition(const kafka_sink_config& config, std::uint32_t shard);

std::string transactional_id(const kafka_sink_config& config, const outbox::shard_name& shard);

/// What the messages hold, moved from them, and the mark as the last record. The mark that is
/// there already, if there is one, goes out with the messages once more, which changes nothing but
/// that its partition is part of the transaction early.
transaction_batch batch_of(
    const kafka_sink_config& config,
    std::span<outbox::outgoing> messages,
    const outbox::mark& after,
    const std::string& mark_there
);

/// What a transaction's end means to the relay.
outbox::published published_by(transaction_outcome outcome, std::size_t messages);

}  // namespace mortise::kafka

#endif
