// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_CLUSTER_CLUSTER_CORE_HPP
#define MORTISE_KAFKA_SRC_CLUSTER_CLUSTER_CORE_HPP

#include "handle.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/kafka/found_record.hpp"
#include "mortise/kafka/topic_wish.hpp"
#include "producer/topic_guide.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mortise::kafka::detail {

/// The blocking half of a cluster. All functions throw `boost::system::system_error`.
///
/// @par Threads `request_stop`, `says`: any. All others: one.
class cluster_core {
public:
    /// @throws mortise::error (`bad_config`)
    explicit cluster_core(kafka_config config);

    voice& says() noexcept { return handle_.says(); }
    void request_stop() noexcept { stopping_ = true; }

    std::string id();
    bool ensure(const topic_wish& topic);
    std::optional<found_record> last_record(
        const std::string& topic, std::int32_t partition, const std::string& key, std::int64_t from
    );

    /// The number of partitions; zero if there is no such topic.
    int partitions_of(const std::string& topic);

private:
    bool create(const topic_wish& topic);
    void compare(const topic_wish& topic, int partitions);
    std::optional<std::string> clean_up_policy(const std::string& topic);
    owned<rd_kafka_event_t> answer(rd_kafka_queue_t* queue);
    owned<rd_kafka_AdminOptions_t> options(rd_kafka_admin_op_t operation) const;

    /// Calls `ask` until its code is not a temporary failure, or the time is up.
    int until_clear(const std::function<int()>& ask);
    void check_going() const;

    const kafka_config config_;
    std::atomic<bool> stopping_{false};
    handle handle_;
};

}  // namespace mortise::kafka::detail

#endif
