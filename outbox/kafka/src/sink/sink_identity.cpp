// SPDX-License-Identifier: BSL-1.0
#include "sink/sink_identity.hpp"

namespace mortise::kafka {

std::string sink_identity(const kafka_sink_config& config, const std::string& cluster_id) {
    return older_sink_identity(config, cluster_id) +
           "?progress_partitions=" + std::to_string(config.progress_partitions) +
           "&id_prefix=" + config.id_prefix;
}

std::string older_sink_identity(const kafka_sink_config& config, const std::string& cluster_id) {
    return "kafka:" + cluster_id + "/" + config.progress_topic;
}

}  // namespace mortise::kafka
