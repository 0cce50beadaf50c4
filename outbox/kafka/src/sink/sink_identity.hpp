// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_SINK_SINK_IDENTITY_HPP
#define MORTISE_KAFKA_SRC_SINK_SINK_IDENTITY_HPP

#include "mortise/kafka/kafka_sink.hpp"

#include <string>

namespace mortise::kafka {

/// Names a sink such that two sinks that cannot work together have different names. With another
/// prefix, relays do not fence each other. With another topic or number of partitions, they do not
/// find each other's marks.
std::string sink_identity(const kafka_sink_config& config, const std::string& cluster_id);

/// The name of the same sink in older versions, which used the cluster and the topic only.
std::string older_sink_identity(const kafka_sink_config& config, const std::string& cluster_id);

}  // namespace mortise::kafka

#endif
