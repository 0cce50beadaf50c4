// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BARE_KAFKA_HPP
#define MORTISE_TOOLS_BENCH_BARE_KAFKA_HPP

#include "bench/relay_phases.hpp"

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::tool {

/// librdkafka without mortise. The bench measures a relay with it, and compares the relay to it.
struct bare_kafka_closer {
    void operator()(rd_kafka_t* handle) const noexcept { ::rd_kafka_destroy(handle); }
};
using bare_kafka = std::unique_ptr<rd_kafka_t, bare_kafka_closer>;

using bare_kafka_settings = std::vector<std::pair<std::string, std::string>>;

/// @throws failure with librdkafka's reason.
bare_kafka
open_bare_kafka(rd_kafka_type_t type, const std::string& servers, const bare_kafka_settings& more);

/// Removes the topics of a measurement. Ignores errors.
void remove_topics(const std::string& servers, const std::vector<std::string>& names) noexcept;

/// @throws failure if librdkafka reports an error.
void check_kafka(rd_kafka_error_t* failed);
void check_kafka(rd_kafka_resp_err_t failed);

inline constexpr int kafka_patience_ms = 30'000;

/// A transactional producer that uses only librdkafka.
class bare_producer {
public:
    /// @throws failure
    bare_producer(const std::string& servers, const std::string& transactional_id);

    /// Sends `count` records, numbered from `first`, in one transaction. @throws failure
    void send(const bench_records& records, std::uint64_t first, std::uint64_t count);

private:
    const bare_kafka handle_;
};

}  // namespace mortise::tool

#endif
