// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_CONSUMER_RECORD_IN_HPP
#define MORTISE_KAFKA_SRC_CONSUMER_RECORD_IN_HPP

#include "mortise/kafka/consumed_record.hpp"
#include "owned.hpp"

namespace mortise::kafka {

/// Converts a message of librdkafka that is not an error.
consumed_record record_in(const rd_kafka_message_t& message);

}  // namespace mortise::kafka

#endif
