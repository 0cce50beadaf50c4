// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_RELAY_PHASES_HPP
#define MORTISE_TOOLS_BENCH_RELAY_PHASES_HPP

#include "bench/bench_records.hpp"
#include "settings.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace mortise::tool {

/// What a message adds to a transaction that is its own.
struct append_cost {
    double us = 0;
    double ratio = 0;  ///< Of the time with it to that without.
};

struct append_costs {
    append_cost lazy;
    append_cost forced;
};

/// Two statements without and with a message, in turns, one transaction after the other.
append_costs
measure_append(const std::filesystem::path& folder, const bench_records& message, unsigned seconds);

/// Where a relay is measured.
struct relay_bench {
    std::string servers;
    std::filesystem::path folder;
    std::string name;  ///< Of this run: its topics and ids begin with it.
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
    std::uint64_t rows = 0;     ///< That the relay has sent,
    std::uint64_t batches = 0;  ///< in so many,
    std::uint64_t writes = 0;   ///< with so many transactions with its database,
    std::uint64_t purges = 0;   ///< of which so many forgot rows.
    double purged_per_s = 0;    ///< Rows that the relay forgets when it is stopped.
};

/// A table that is full, emptied by a relay; and the same rows in batches of the same size by
/// producers of librdkafka alone, as many as there are shards. In turns.
relay_throughput measure_throughput(const relay_bench& at);

struct relay_latency {
    double p50_ms = 0;
    double p99_ms = 0;
    double bare_ms = 0;  ///< A transaction with one record, median.
    std::uint64_t missing = 0;
    std::uint64_t repeated = 0;
};

/// From a commit to whoever reads what is committed, at a hundred rows a second.
relay_latency measure_latency(const relay_bench& at);

struct inbox_speed {
    double per_s = 0;
    double alone_per_s = 0;
};

/// What the relay has sent, received by an inbox by offsets in batches of 500, and by a consumer of
/// librdkafka that does nothing with it.
inbox_speed measure_inbox(const relay_bench& at);

}  // namespace mortise::tool

#endif
