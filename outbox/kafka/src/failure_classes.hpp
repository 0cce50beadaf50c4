// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_FAILURE_CLASSES_HPP
#define MORTISE_KAFKA_SRC_FAILURE_CLASSES_HPP

#include "mortise/kafka/error.hpp"

#include <cstdint>

namespace mortise::kafka {

bool passes_by_itself(int code) noexcept;
/// The same where a partition is known to exist: it is reported as unknown while it has no leader.
bool passes_with_a_leader(int code) noexcept;
bool is_of_class(int code, condition wanted) noexcept;

/// What a failed delivery says of its record.
enum class blame : std::uint8_t {
    none,       ///< Nothing: it suffered from something else.
    record,     ///< It can never be delivered.
    topic,      ///< Its topic, or partition, is unknown, which may pass.
    neighbour,  ///< It, or another record of the same batch of the wire, can never be delivered.
};

blame blame_of_delivery(int code) noexcept;
/// The same for the code that `rd_kafka_producev` returned: it looked at this record alone.
blame blame_of_call(int code) noexcept;

/// Whether it says that one of the topics cannot be written to, but not which.
bool blames_topic(int code) noexcept;

/// What a call of the transactional interface reported.
struct call_failure {
    int code = 0;
    bool fatal = false;
    bool abortable = false;
    bool retriable = false;
};

/// What to do after a call has failed.
enum class remedy : std::uint8_t {
    resume,   ///< Call again: it goes on meanwhile.
    abort,    ///< Abort the transaction; the producer stays usable.
    give_up,  ///< The producer is lost.
};

/// The code counts more than the flags: some versions call it abortable to be fenced. What has no
/// flag at all is fatal (librdkafka's header says so).
remedy remedy_of(const call_failure& what) noexcept;

}  // namespace mortise::kafka

#endif
