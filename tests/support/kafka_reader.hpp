// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_KAFKA_READER_HPP
#define MORTISE_TESTS_SUPPORT_KAFKA_READER_HPP

#include "support/raw_kafka.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// A record as a consumer sees it. An absent part is Kafka's null, which is not the empty text.
struct kafka_seen {
    std::optional<std::string> key;
    std::optional<std::string> value;
    std::vector<std::pair<std::string, std::optional<std::string>>> headers;
    std::int32_t partition = 0;
    std::int64_t offset = 0;
    std::int64_t timestamp = 0;
};

enum class kafka_isolation {
    read_committed,    ///< What a consumer should see.
    read_uncommitted,  ///< Also what was aborted, or is still open.
};

/// Reads whole topics, with no group. It shares no code with what it judges.
class kafka_reader {
public:
    explicit kafka_reader(
        const std::string& address, kafka_isolation isolation = kafka_isolation::read_committed
    )
        : kafka_reader(address, {}, isolation) {}
    kafka_reader(
        const std::string& address,
        const raw_kafka_settings& login,
        kafka_isolation isolation = kafka_isolation::read_committed
    );

    /// All records that can be read now, by partition and offset. With `read_committed` that ends
    /// where the oldest open transaction begins. @throws std::runtime_error
    std::vector<kafka_seen> read(const std::string& topic) const;

    /// The same, once no transaction is open in the topic: up to the true end. A commit may return
    /// before its records can be read.
    /// @throws std::runtime_error also if a transaction is still open after `limit`
    std::vector<kafka_seen> read_settled(
        const std::string& topic, std::chrono::milliseconds limit = std::chrono::seconds(20)
    ) const;

    /// The values alone, of `read` and `read_settled`; null counts as "(null)".
    std::vector<std::string> values(const std::string& topic) const;
    std::vector<std::string> settled_values(const std::string& topic) const;

    /// The offset of the partition's next record; control records and open transactions count.
    std::int64_t end_of(const std::string& topic, std::int32_t partition) const;

private:
    int partitions_of(const std::string& topic) const;

    raw_kafka handle_;
    raw_kafka whole_;  ///< Sees the true end.
};

}  // namespace mortise::test

#endif
