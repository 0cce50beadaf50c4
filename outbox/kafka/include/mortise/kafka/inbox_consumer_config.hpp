// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_INBOX_CONSUMER_CONFIG_HPP
#define MORTISE_KAFKA_INBOX_CONSUMER_CONFIG_HPP

#include "mortise/kafka/consumer_config.hpp"

#include <chrono>
#include <string>

namespace mortise::kafka {

/// The topics that go into an inbox. All members of a group must deliver to the same inbox in the
/// same database. A partition that another inbox has handled is refused (`errc::foreign_inbox`).
class inbox_consumer_config : public consumer_config {
public:
    inbox_consumer_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    using consumer_config::consumer_config;

    /// The header with the id of the message. A record without it gets the id
    /// "TOPIC/PARTITION/OFFSET", which no inbox remembers.
    std::string id_header = "mortise-id";

    /// Whether to go on with a partition that an inbox in another database has handled for the
    /// group; its messages then have their effects again. If not, such a partition is refused.
    bool adopt_group = false;

    /// How often, at most, the group is told the position of the inbox, for tools that show a lag:
    /// 1 ms to one day. Nothing else depends on it.
    std::chrono::milliseconds tell_group_after{5'000};
};

}  // namespace mortise::kafka

#endif
