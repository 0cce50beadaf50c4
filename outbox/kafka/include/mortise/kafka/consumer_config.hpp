// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_CONSUMER_CONFIG_HPP
#define MORTISE_KAFKA_CONSUMER_CONFIG_HPP

#include "mortise/kafka/consumer_event.hpp"
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

/// What a member of a consumer group reads, and how.
class consumer_config {
public:
    consumer_config() = default;  // declared: no aggregate (docs/compilers.md, G3)
    consumer_config(kafka_config from, std::string member_of, std::vector<std::string> these_topics)
        : cluster(std::move(from)), group(std::move(member_of)), topics(std::move(these_topics)) {}

    /// `auto.offset.reset` in its settings says where to begin in a partition of which nothing was
    /// handled yet: `earliest` (the default here, except for processors), `latest` (decided again
    /// at each start until a record has come), or `error`, which refuses the partition.
    kafka_config cluster;

    /// The consumer group: 1 to 249 bytes.
    std::string group;

    /// 1 to 1,000 names of topics, each of 1 to 200 bytes.
    std::vector<std::string> topics;

    /// Limits of a batch, whose records are handled together: its records (1 to 100,000) and their
    /// bytes (1 to 1 GiB). As many again are read ahead meanwhile.
    std::size_t batch_rows = 500;
    std::size_t batch_bytes = 4u << 20;

    /// Whether to go on if retention has removed records that were not handled. If not, the
    /// partition is refused.
    bool skip_removed = false;

    /// The pause after a failure: drawn evenly below a bound, which doubles from `retry_first` up
    /// to `retry_max`; 1 ms to one day each.
    std::chrono::milliseconds retry_first{100};
    std::chrono::milliseconds retry_max{10'000};

    /// Called for each event, on the consumer's strand; must not throw or block. The calls end when
    /// `async_stop` has completed. A destructor leaves the group in the background, and the
    /// observer is called for that, too. Then what it refers to must live until the executor's
    /// context has ended.
    std::function<void(const consumer_event&)> observer;

    /// The source of time; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// The seed for drawing the pauses; zero: a random one.
    std::uint64_t jitter_seed = 0;
};

}  // namespace mortise::kafka

#endif
