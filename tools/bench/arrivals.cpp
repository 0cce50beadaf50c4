// SPDX-License-Identifier: BSL-1.0
#include "bench/arrivals.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace mortise::tool {
namespace {

constexpr int look_ms = 50;

}  // namespace

arrivals::arrivals(const std::string& servers, const std::string& topic, int partitions)
    : handle_(open_bare_kafka(
          RD_KAFKA_CONSUMER, servers, {{"group.id", topic}, {"enable.auto.commit", "false"}}
      )) {
    rd_kafka_topic_partition_list_t* const all =
        ::rd_kafka_topic_partition_list_new(std::max(partitions, 1));
    for (int each = 0; each < partitions; ++each) {
        auto* const added = ::rd_kafka_topic_partition_list_add(all, topic.c_str(), each);
        std::int64_t first = 0;
        std::int64_t end = 0;
        ::rd_kafka_query_watermark_offsets(
            handle_.get(), topic.c_str(), each, &first, &end, kafka_patience_ms
        );
        added->offset = end;
    }
    const auto failed = ::rd_kafka_assign(handle_.get(), all);
    ::rd_kafka_topic_partition_list_destroy(all);
    check_kafka(failed);
    ::rd_kafka_poll_set_consumer(handle_.get());
    thread_ = std::thread([this] { read(); });
}

arrivals::~arrivals() {
    stopping_ = true;
    thread_.join();
    ::rd_kafka_consumer_close(handle_.get());
}

void arrivals::read() {
    while (!stopping_) {
        rd_kafka_message_t* const came = ::rd_kafka_consumer_poll(handle_.get(), look_ms);
        const auto when = clock::now();
        if (came == nullptr)
            continue;
        if (came->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            const char* const text = static_cast<const char*>(came->payload);
            std::uint64_t number = 0;
            std::from_chars(text, text + came->len, number);
            const std::lock_guard hold(mutex_);
            repeated_ += !came_.emplace(number, when).second;
        }
        ::rd_kafka_message_destroy(came);
    }
}

std::size_t arrivals::count() const {
    const std::lock_guard hold(mutex_);
    return came_.size();
}

std::size_t arrivals::repeated() const {
    const std::lock_guard hold(mutex_);
    return repeated_;
}

std::map<std::uint64_t, clock::time_point> arrivals::take() {
    const std::lock_guard hold(mutex_);
    return std::exchange(came_, {});
}

}  // namespace mortise::tool
