// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_FEED_RECEIVED_OF_HPP
#define MORTISE_KAFKA_SRC_FEED_RECEIVED_OF_HPP

#include "mortise/kafka/consumed_record.hpp"
#include "mortise/outbox/received.hpp"

#include <string>

namespace mortise::kafka {

/// The name of a partition in an inbox.
std::string source_of(const std::string& cluster, const topic_partition& partition);

/// Turns a record of an outbox's sink back into its message. A record of another producer gets an
/// id made from its place, and a null header value becomes empty.
outbox::received
received_of(const std::string& source, const std::string& id_header, consumed_record record);

}  // namespace mortise::kafka

#endif
