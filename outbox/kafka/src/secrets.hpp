// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_SECRETS_HPP
#define MORTISE_KAFKA_SRC_SECRETS_HPP

#include "mortise/kafka/kafka_config.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::kafka {

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

}  // namespace mortise::kafka

#endif
