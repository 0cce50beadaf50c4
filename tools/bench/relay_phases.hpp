// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_RELAY_PHASES_HPP
#define MORTISE_TOOLS_BENCH_RELAY_PHASES_HPP

#include "common/settings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace mortise::tool {

/// Records as a relay sends them. Each has one of a thousand keys, and a payload of the given size
/// that begins with the record's number. Its header is as long as the one with a message's id.
class bench_records {
public:
    bench_records(std::string to, std::size_t payload) : topic_(std::move(to)), size_(payload) {}

    const std::string& topic() const noexcept { return topic_; }
    static std::string key(std::uint64_t number) { return "key-" + std::to_string(number % 1'000); }
    std::string payload(std::uint64_t number) const {
        std::string text = std::to_string(number) + ' ';
        text.resize(std::max(size_, text.size()), 'x');
        return text;
    }

private:
    std::string topic_;
    std::size_t size_;
};

/// What appending a message adds to a transaction.
struct append_cost {
    double us = 0;
    double ratio = 0;  ///< The time with a message divided by the time without.
};

struct append_costs {
    append_cost lazy;
    append_cost forced;
};

/// Compares two statements without and with a message. Both kinds take turns, one transaction at a
/// time.
append_costs
measure_append(const std::filesystem::path& folder, const bench_records& message, unsigned seconds);

/// The setting in which a relay is measured.
struct relay_bench {
    std::string servers;
    std::filesystem::path folder;
    std::string name;  ///< The name of this run: its topics and ids begin with it.
    int partitions = 4;
    std::uint64_t rows = 0;
    unsigned size = 0;
    unsigned seconds = 0;

    std::string topic() const { return name + ".data"; }
    std::string bare_topic() const { return name + ".bare"; }
    std::string progress() const { return name + ".progress"; }
};

struct relay_throughput {
    double rows_per_s = 0;
    double bare_per_s = 0;
    std::uint64_t rows = 0;     ///< Rows that the relay has sent,
    std::uint64_t batches = 0;  ///< the batches that held them,
    std::uint64_t writes = 0;   ///< the transactions with its database,
    std::uint64_t purges = 0;   ///< and those among them that deleted rows.
    double purged_per_s = 0;    ///< Rows deleted per second while the relay stops.
};

/// Compares a relay that empties a full table with bare librdkafka producers, one for each shard.
/// They send the same rows in batches of the same size. Both take turns.
relay_throughput measure_throughput(const relay_bench& at);

struct relay_latency {
    double p50_ms = 0;
    double p99_ms = 0;
    double bare_ms = 0;  ///< A transaction with one record, median.
    std::uint64_t missing = 0;
    std::uint64_t repeated = 0;
};

/// The time from a commit until a reader of committed records has the row, at a hundred rows a
/// second.
relay_latency measure_latency(const relay_bench& at);

struct inbox_speed {
    double per_s = 0;
    double alone_per_s = 0;
};

/// Reads the topic that the relay filled: by an inbox with offsets, in batches of 500, and by a
/// bare librdkafka consumer that ignores the records.
inbox_speed measure_inbox(const relay_bench& at);

}  // namespace mortise::tool

#endif
