// SPDX-License-Identifier: BSL-1.0
// Finds the newest record of a key by reading up to the true end of its partition.
#include "cluster/cluster_core.hpp"
#include "failure_classes.hpp"
#include "mortise/kafka/error.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <string_view>

namespace mortise::kafka::detail {
namespace {

std::string_view bytes(const void* data, std::size_t size) {
    return {static_cast<const char*>(data), size};
}

/// Reads one partition from an offset. Needs no group, nor permission for one.
class reading {
public:
    reading(rd_kafka_t* handle, const std::string& topic, std::int32_t partition, std::int64_t from)
        : topic_(::rd_kafka_topic_new(handle, topic.c_str(), nullptr)), partition_(partition) {
        if (!topic_ || ::rd_kafka_consume_start(topic_.get(), partition_, from) != 0)
            throw boost::system::system_error(kafka_error(::rd_kafka_last_error()));
    }
    ~reading() { ::rd_kafka_consume_stop(topic_.get(), partition_); }
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;

    owned<rd_kafka_message_t> next() const {
        return owned<rd_kafka_message_t>(::rd_kafka_consume(topic_.get(), partition_, slice_ms));
    }

private:
    const owned<rd_kafka_topic_t> topic_;
    const std::int32_t partition_;
};

found_record found_in(const rd_kafka_message_t& message) {
    found_record found;
    found.at = {message.partition, message.offset};
    if (message.payload != nullptr)
        found.value = bytes(message.payload, message.len);
    found.timestamp = ::rd_kafka_message_timestamp(&message, nullptr);
    return found;
}

int ask_ends(
    rd_kafka_t* handle,
    const std::string& topic,
    std::int32_t partition,
    std::int64_t& low,
    std::int64_t& high
) {
    constexpr int wait_ms = 1'000;
    const int code =
        ::rd_kafka_query_watermark_offsets(handle, topic.c_str(), partition, &low, &high, wait_ms);
    const bool headless = code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
    return headless ? RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE : code;
}

}  // namespace

// Relies on the end-of-partition event: control records take offsets, too, so the last record may
// lie before the end.
std::optional<found_record> cluster_core::last_record(
    const std::string& topic, std::int32_t partition, const std::string& key, std::int64_t from
) {
    if (partition < 0 || partition >= partitions_of(topic))
        throw boost::system::system_error(kafka_error(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION));
    std::int64_t low = 0;
    std::int64_t end = 0;
    handle whole(config_, purpose::measuring);
    whole.open();
    const int code =
        until_clear([&]() -> int { return ask_ends(whole.get(), topic, partition, low, end); });
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        ::rd_kafka_poll(whole.get(), 0);
        if (const std::string trouble = whole.says().trouble(); !trouble.empty())
            says().note_trouble(trouble);
        throw boost::system::system_error(kafka_error(code));
    }
    if (from > end)
        throw boost::system::system_error(make_error_code(errc::offset_gone));

    std::optional<found_record> found;
    handle committed(config_, purpose::reading);
    committed.open();
    std::int64_t next = std::max(from, low);
    if (next >= end)
        return found;
    const reading records(committed.get(), topic, partition, next);
    clock::time_point give_up = clock::now() + config_.answer_wait_max;
    while (next < end) {
        check_going();
        const auto message = records.next();
        const std::int64_t before = next;
        if (message && message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            next = message->offset;
        } else if (message && message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            next = message->offset + 1;
            if (message->key != nullptr && bytes(message->key, message->key_len) == key)
                found = found_in(*message);
        } else if (message && !passes_with_a_leader(message->err)) {
            throw boost::system::system_error(kafka_error(message->err));
        }
        if (next > before)
            give_up = clock::now() + config_.answer_wait_max;
        else if (clock::now() >= give_up)
            throw boost::system::system_error(make_error_code(errc::still_open));
    }
    return found;
}

}  // namespace mortise::kafka::detail
