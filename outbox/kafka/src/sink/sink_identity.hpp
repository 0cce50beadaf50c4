// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_SINK_SINK_IDENTITY_HPP
#define MORTISE_KAFKA_SRC_SINK_SINK_IDENTITY_HPP

#include "mortise/kafka/kafka_sink.hpp"

#include <string>

namespace mortise::kafka {

/// Names a sink so that two that do not know of each other have different names: with another
/// prefix the relays do not fence each other, with another number of partitions, or another topic,
/// they do not find each other's marks.
std::string sink_identity(const kafka_sink_config& config, const std::string& cluster_id);

/// The name of the same sink in older versions, which knew cluster and topic only.
std::string older_sink_identity(const kafka_sink_config& config, const std::string& cluster_id);

}  // namespace mortise::kafka

#endif
