// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_INBOX_CONSUMER_CONFIG_HPP
#define MORTISE_KAFKA_INBOX_CONSUMER_CONFIG_HPP

#include "mortise/kafka/inbox_consumer_event.hpp"
#include "mortise/kafka/kafka_config.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::coro {
class time_source;
}

namespace mortise::kafka {

/// Which topics go into an inbox.
class inbox_consumer_config {
public:
    inbox_consumer_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    inbox_consumer_config(
        kafka_config from, std::string member_of, std::vector<std::string> these_topics
    )
        : cluster(std::move(from)), group(std::move(member_of)), topics(std::move(these_topics)) {}

    /// `auto.offset.reset` among its settings says where a partition begins of which the inbox has
    /// never had anything: `earliest`, which is the default here, `latest` (each time anew until
    /// something has come), or `error`, which is `refused`.
    kafka_config cluster;

    /// The consumer group, 1 to 249 bytes. All of its members deliver to the same inbox in the same
    /// database.
    std::string group;

    /// 1 to 1,000 topics, by their names, of 1 to 200 bytes.
    std::vector<std::string> topics;

    /// The header with the id of the message. A record without it gets the id
    /// "TOPIC/PARTITION/OFFSET".
    std::string id_header = "mortise-id";

    /// Messages that are delivered together: up to so many, and bytes in them: 1 to 100,000, 1 to
    /// 1 GiB. As many again are held ready meanwhile.
    std::size_t batch_rows = 500;
    std::size_t batch_bytes = 4u << 20;

    /// Whether to go on where retention has removed what the inbox has not got. If not, the
    /// partition is refused.
    bool skip_removed = false;

    /// The group is told how far the inbox is, for the tools that show people a lag, at most so
    /// often: 1 ms to one day. Nothing else depends on it.
    std::chrono::milliseconds tell_group_after{5'000};

    /// The pause after something failed: drawn evenly up to a bound, which doubles from the first
    /// to the last of these; 1 ms to one day.
    std::chrono::milliseconds retry_first{100};
    std::chrono::milliseconds retry_max{10'000};

    /// Hears what happens, on the consumer's strand; must not throw or block.
    std::function<void(const inbox_consumer_event&)> observer;

    /// Where time comes from; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// Of the pauses; zero: a random one.
    std::uint64_t jitter_seed = 0;
};

}  // namespace mortise::kafka

#endif
