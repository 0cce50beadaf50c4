// SPDX-License-Identifier: BSL-1.0
#include "support/kafka_reader.hpp"

#include "support/eventually.hpp"

#include <chrono>
#include <stdexcept>

namespace mortise::test {
namespace {

constexpr int answer_limit_ms = 10'000;
// A broker that shares its processor with others takes long to lead again.
constexpr std::chrono::seconds broker_limit(60);

raw_kafka
open_consumer(const std::string& address, raw_kafka_settings settings, const char* isolation) {
    settings.insert(
        settings.end(),
        {{"isolation.level", isolation},
         {"enable.partition.eof", "true"},
         {"fetch.wait.max.ms", "10"},
         {"auto.offset.reset", "error"}}
    );
    return open_raw_kafka(RD_KAFKA_CONSUMER, address, settings);
}

std::optional<std::string> text_of(const void* bytes, std::size_t size) {
    if (bytes == nullptr)
        return std::nullopt;
    return std::string(static_cast<const char*>(bytes), size);
}

kafka_seen seen_in(const rd_kafka_message_t& message) {
    kafka_seen seen;
    seen.key = text_of(message.key, message.key_len);
    seen.value = text_of(message.payload, message.len);
    seen.partition = message.partition;
    seen.offset = message.offset;
    seen.timestamp = ::rd_kafka_message_timestamp(&message, nullptr);
    rd_kafka_headers_t* headers = nullptr;
    if (::rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return seen;
    const char* name = nullptr;
    const void* bytes = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         ::rd_kafka_header_get_all(headers, i, &name, &bytes, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i)
        seen.headers.emplace_back(name, text_of(bytes, size));
    return seen;
}

std::vector<std::string> values_of(const std::vector<kafka_seen>& records) {
    std::vector<std::string> all;
    for (const kafka_seen& seen : records)
        all.push_back(seen.value.value_or("(null)"));
    return all;
}

// Asks again while the broker leads nothing, as it does for a moment after a pause or a start.
std::int64_t high_end(const raw_kafka& handle, const std::string& topic, std::int32_t partition) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    const raw_kafka_owned<rd_kafka_topic_t> asked(
        ::rd_kafka_topic_new(handle.get(), topic.c_str(), nullptr)
    );
    eventually(
        [&] {
            code = ::rd_kafka_query_watermark_offsets(
                handle.get(), topic.c_str(), partition, &low, &high, answer_limit_ms
            );
            const bool leads = code != RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION &&
                               code != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE &&
                               code != RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
            // The library may keep for a minute that it knows no such partition, though the broker
            // says that it leads it: asking the broker mends what is kept.
            if (!leads)
                static_cast<void>(raw_kafka_metadata(handle, asked.get(), answer_limit_ms));
            return leads;
        },
        broker_limit
    );
    check_raw_kafka(code);
    return high;
}

/// Reads one partition from its beginning.
class partition_reading {
public:
    partition_reading(rd_kafka_topic_t* topic, std::int32_t partition)
        : topic_(topic), partition_(partition) {
        if (::rd_kafka_consume_start(topic_, partition_, RD_KAFKA_OFFSET_BEGINNING) != 0)
            check_raw_kafka(::rd_kafka_last_error());
    }
    ~partition_reading() { ::rd_kafka_consume_stop(topic_, partition_); }
    partition_reading(const partition_reading&) = delete;
    partition_reading& operator=(const partition_reading&) = delete;

    void read_to(std::int64_t end, std::vector<kafka_seen>& into) const {
        for (std::int64_t next = 0; next < end;) {
            const raw_kafka_owned<rd_kafka_message_t> message(
                ::rd_kafka_consume(topic_, partition_, answer_limit_ms)
            );
            if (!message)
                throw std::runtime_error("the broker stops in the middle of a topic");
            if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
                next = message->offset;
                continue;
            }
            check_raw_kafka(message->err);
            next = message->offset + 1;
            if (message->offset < end)
                into.push_back(seen_in(*message));
        }
    }

private:
    rd_kafka_topic_t* const topic_;
    const std::int32_t partition_;
};

}  // namespace

kafka_reader::kafka_reader(
    const std::string& address, const raw_kafka_settings& login, kafka_isolation isolation
)
    : handle_(open_consumer(
          address,
          login,
          isolation == kafka_isolation::read_committed ? "read_committed" : "read_uncommitted"
      )),
      whole_(open_consumer(address, login, "read_uncommitted")) {}

int kafka_reader::partitions_of(const std::string& topic) const {
    const raw_kafka_owned<rd_kafka_topic_t> asked(
        ::rd_kafka_topic_new(handle_.get(), topic.c_str(), nullptr)
    );
    const auto metadata = raw_kafka_metadata(handle_, asked.get(), answer_limit_ms);
    if (!metadata || metadata->topic_cnt != 1)
        throw std::runtime_error("the broker does not say what partitions " + topic + " has");
    check_raw_kafka(metadata->topics[0].err);
    return metadata->topics[0].partition_cnt;
}

std::vector<kafka_seen> kafka_reader::read(const std::string& topic) const {
    std::vector<kafka_seen> all;
    const int partitions = partitions_of(topic);
    const raw_kafka_owned<rd_kafka_topic_t> from(
        ::rd_kafka_topic_new(handle_.get(), topic.c_str(), nullptr)
    );
    for (std::int32_t partition = 0; partition < partitions; ++partition) {
        const std::int64_t end = high_end(handle_, topic, partition);
        if (end > 0)
            partition_reading(from.get(), partition).read_to(end, all);
    }
    return all;
}

std::vector<kafka_seen>
kafka_reader::read_settled(const std::string& topic, std::chrono::milliseconds limit) const {
    const int partitions = partitions_of(topic);
    const auto settled = [&] {
        for (std::int32_t partition = 0; partition < partitions; ++partition) {
            const std::int64_t end = end_of(topic, partition);
            if (high_end(handle_, topic, partition) < end)
                return false;
        }
        return true;
    };
    if (!eventually(settled, limit))
        throw std::runtime_error("a transaction is still open in " + topic);
    return read(topic);
}

std::vector<std::string> kafka_reader::values(const std::string& topic) const {
    return values_of(read(topic));
}

std::vector<std::string> kafka_reader::settled_values(const std::string& topic) const {
    return values_of(read_settled(topic));
}

std::int64_t kafka_reader::end_of(const std::string& topic, std::int32_t partition) const {
    return high_end(whole_, topic, partition);
}

}  // namespace mortise::test
