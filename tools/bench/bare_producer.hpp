// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BARE_PRODUCER_HPP
#define MORTISE_TOOLS_BENCH_BARE_PRODUCER_HPP

#include "bench/bare_kafka.hpp"
#include "bench/bench_records.hpp"

#include <cstdint>
#include <string>

namespace mortise::tool {

/// A transactional producer of librdkafka alone.
class bare_producer {
public:
    /// @throws failure
    bare_producer(const std::string& servers, const std::string& transactional_id);

    /// One transaction with `count` records from that number on. @throws failure
    void send(const bench_records& what, std::uint64_t first, std::uint64_t count);

private:
    const bare_kafka handle_;
};

}  // namespace mortise::tool

#endif
