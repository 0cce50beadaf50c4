// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_FEED_RECEIVED_OF_HPP
#define MORTISE_KAFKA_SRC_FEED_RECEIVED_OF_HPP

#include "mortise/kafka/consumed_record.hpp"
#include "mortise/outbox/received.hpp"

#include <string>

namespace mortise::kafka {

/// The name of a partition in an inbox.
std::string source_of(const std::string& cluster, const topic_partition& which);

/// What the sink of an outbox has made a record of. If it was somebody else, the message gets an id
/// of its own, and a header that is null has an empty value.
outbox::received
received_of(const std::string& source, const std::string& id_header, consumed_record what);

}  // namespace mortise::kafka

#endif
