// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_SETTINGS_HPP
#define MORTISE_KAFKA_SRC_SETTINGS_HPP

#include "mortise/kafka/kafka_config.hpp"
#include "owned.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::kafka::detail {

/// The purpose of a handle of librdkafka.
enum class purpose {
    producing,  ///< Transactions.
    asking,     ///< Asks about the cluster and its topics.
    reading,    ///< Reads committed records.
    measuring,  ///< Finds the true ends of partitions, including open transactions.
    consuming,  ///< Reads as a member of a group.
};

/// Checks the settings that do not depend on the purpose. @throws mortise::error (`bad_config`)
void check_config(const kafka_config& config);

/// Makes librdkafka's configuration. `id` is the transactional id of a producer, or the group of a
/// consumer. @throws mortise::error (`bad_config`): it names the setting and what to do, and never
/// shows a secret
owned<rd_kafka_conf_t>
make_settings(const kafka_config& config, purpose what_for, const std::string& id);

/// Where to begin in a partition that was never consumed: `auto.offset.reset`, as librdkafka's
/// number; none for "error". @throws mortise::error (`bad_config`)
std::optional<std::int64_t> first_offset(const kafka_config& config);

/// The value of `message.timeout.ms`, set or default.
std::chrono::milliseconds delivery_time(const kafka_config& config);

/// @throws mortise::error (`bad_config`)
[[noreturn]] void refuse_setting(const std::string& name, const std::string& remedy);

/// Removes secrets from the messages of librdkafka.
class secrets {
public:
    secrets() = default;
    explicit secrets(const std::map<std::string, std::string>& settings);

    /// Returns the text with "***" in the place of each secret.
    std::string hide_in(std::string_view text) const;

private:
    std::vector<std::string> values_;
};

}  // namespace mortise::kafka::detail

#endif
