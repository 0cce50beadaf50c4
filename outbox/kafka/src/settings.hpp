// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_SETTINGS_HPP
#define MORTISE_KAFKA_SRC_SETTINGS_HPP

#include "mortise/kafka/kafka_config.hpp"
#include "owned.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace mortise::kafka {

/// What a handle of librdkafka is for.
enum class purpose {
    producing,  ///< Transactions.
    asking,     ///< The cluster's facts, topics.
    reading,    ///< What was committed.
    measuring,  ///< The true ends of partitions, which also count what is still open.
    consuming,  ///< As a member of a group.
};

/// Checks what does not depend on the purpose. @throws mortise::error (`bad_config`)
void check_config(const kafka_config& config);

/// librdkafka's configuration out of ours. `id` is the transactional id of who produces, and the
/// group of who consumes. @throws mortise::error (`bad_config`): it names the setting and what to
/// do, and never shows a secret
owned<rd_kafka_conf_t>
make_settings(const kafka_config& config, purpose what_for, const std::string& id);

/// Where to begin to consume what was never consumed: `auto.offset.reset`, as librdkafka has it;
/// none if that is "error". @throws mortise::error (`bad_config`)
std::optional<std::int64_t> first_offset(const kafka_config& config);

/// `message.timeout.ms` as it is, or would be, set.
std::chrono::milliseconds delivery_time(const kafka_config& config);

/// @throws mortise::error (`bad_config`)
[[noreturn]] void refuse_setting(const std::string& name, const std::string& remedy);

}  // namespace mortise::kafka

#endif
