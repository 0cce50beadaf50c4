// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BARE_PRODUCER_HPP
#define MORTISE_TOOLS_BENCH_BARE_PRODUCER_HPP

#include "bench/bare_kafka.hpp"
#include "bench/bench_records.hpp"

#include <cstdint>
#include <string>

namespace mortise::tool {

/// A transactional producer that uses only librdkafka.
class bare_producer {
public:
    /// @throws failure
    bare_producer(const std::string& servers, const std::string& transactional_id);

    /// Sends `count` records, numbered from `first`, in one transaction. @throws failure
    void send(const bench_records& what, std::uint64_t first, std::uint64_t count);

private:
    const bare_kafka handle_;
};

}  // namespace mortise::tool

#endif
