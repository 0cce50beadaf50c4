// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_INBOX_CONSUMER_CONFIG_HPP
#define MORTISE_KAFKA_INBOX_CONSUMER_CONFIG_HPP

#include "mortise/kafka/consumer_config.hpp"

#include <chrono>
#include <string>

namespace mortise::kafka {

/// Which topics go into an inbox. All members of a group deliver to the same inbox in the same
/// database; a partition that another one has dealt with is refused (`errc::foreign_inbox`).
class inbox_consumer_config : public consumer_config {
public:
    inbox_consumer_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    using consumer_config::consumer_config;

    /// The header with the id of the message. A record without it gets the id
    /// "TOPIC/PARTITION/OFFSET", which no inbox remembers.
    std::string id_header = "mortise-id";

    /// Whether to go on also where an inbox in another database has dealt with a partition for the
    /// group: what that has done is done again. If not, such a partition is refused.
    bool adopt_group = false;

    /// The group is told how far the inbox is, for the tools that show people a lag, at most so
    /// often: 1 ms to one day. Nothing else depends on it.
    std::chrono::milliseconds tell_group_after{5'000};
};

}  // namespace mortise::kafka

#endif
