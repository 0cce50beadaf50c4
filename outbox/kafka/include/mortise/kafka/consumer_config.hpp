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

    /// `auto.offset.reset` among its settings says where a partition begins of which nothing was
    /// ever dealt with: `earliest`, which is the default here but for processors, `latest` (each
    /// time anew until something has come), or `error`, which is `refused`.
    kafka_config cluster;

    /// The consumer group: 1 to 249 bytes.
    std::string group;

    /// 1 to 1,000 topics, by their names, of 1 to 200 bytes.
    std::vector<std::string> topics;

    /// Records that are dealt with together: up to so many, and bytes in them: 1 to 100,000, 1 to
    /// 1 GiB. As many again are held ready meanwhile.
    std::size_t batch_rows = 500;
    std::size_t batch_bytes = 4u << 20;

    /// Whether to go on where retention has removed what was not dealt with. If not, the partition
    /// is refused.
    bool skip_removed = false;

    /// The pause after something failed: drawn evenly up to a bound, which doubles from the first
    /// to the last of these; 1 ms to one day.
    std::chrono::milliseconds retry_first{100};
    std::chrono::milliseconds retry_max{10'000};

    /// Hears what happens, on the consumer's strand; must not throw or block. It is called until
    /// `async_stop` has completed. After a destructor the group is left in the background, and it
    /// hears of that, too: what it refers to must then live until the executor's context has ended.
    std::function<void(const consumer_event&)> observer;

    /// Where time comes from; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// Of the pauses; zero: a random one.
    std::uint64_t jitter_seed = 0;
};

}  // namespace mortise::kafka

#endif
