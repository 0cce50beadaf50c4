// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_SINK_SINK_RECORDS_HPP
#define MORTISE_KAFKA_SRC_SINK_SINK_RECORDS_HPP

#include "mortise/kafka/kafka_sink.hpp"
#include "mortise/kafka/record.hpp"
#include "mortise/kafka/transaction_outcome.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mortise::kafka::detail {

/// Names a sink such that two sinks that cannot work together have different names. With another
/// prefix, relays do not fence each other. With another topic or number of partitions, they do not
/// find each other's marks.
std::string sink_identity(const kafka_sink_config& config, const std::string& cluster_id);

/// The name of the same sink in older versions, which used the cluster and the topic only.
std::string older_sink_identity(const kafka_sink_config& config, const std::string& cluster_id);

/// Writes "PARTITION:OFFSET".
std::string place_text(const record_position& at);
/// Reads such a text; nothing for any other text.
std::optional<record_position> parse_place(std::string_view text);

/// The place of a shard's mark: this key, in this partition of the progress topic.
std::string mark_key(const std::string& table, std::uint32_t shard);
std::int32_t mark_partition(const kafka_sink_config& config, std::uint32_t shard);

std::string transactional_id(const kafka_sink_config& config, const outbox::shard_name& shard);

/// Makes a batch: the contents of the messages, moved from them, and the mark as the last record.
/// An existing mark goes out once more before the messages. That changes nothing, but makes its
/// partition part of the transaction early.
transaction_batch batch_of(
    const kafka_sink_config& config,
    std::span<outbox::outgoing> messages,
    const outbox::mark& after,
    const std::string& mark_there
);

/// Translates the outcome of a transaction for the relay.
outbox::published published_by(transaction_outcome outcome, std::size_t messages);

}  // namespace mortise::kafka::detail

#endif
