// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_FAILURE_CLASSES_HPP
#define MORTISE_KAFKA_SRC_FAILURE_CLASSES_HPP

#include "mortise/kafka/error.hpp"

#include <cstdint>

namespace mortise::kafka::detail {

bool passes_by_itself(int code) noexcept;
/// Like `passes_by_itself`, for a partition that exists: without a leader it is reported as
/// unknown.
bool passes_with_a_leader(int code) noexcept;
bool is_of_class(int code, condition wanted) noexcept;

/// What a failed delivery says about its record.
enum class blame : std::uint8_t {
    none,       ///< Nothing: another failure caused it.
    record,     ///< It can never be delivered.
    topic,      ///< Its topic or partition is unknown, which may pass.
    neighbour,  ///< It, or another record of its batch on the wire, can never be delivered.
};

blame blame_of_delivery(int code) noexcept;
/// The same for a code from `rd_kafka_producev`, which checks one record alone.
blame blame_of_call(int code) noexcept;

/// Whether the code says that one of the topics cannot be written to, but not which one.
bool blames_topic(int code) noexcept;

/// The result of a call of the transactional interface.
struct call_failure {
    int code = 0;
    bool fatal = false;
    bool abortable = false;
    bool retriable = false;
};

/// What to do after a call has failed.
enum class remedy : std::uint8_t {
    resume,   ///< Call again: the operation goes on meanwhile.
    abort,    ///< Abort the transaction; the producer stays usable.
    give_up,  ///< The producer is lost.
};

/// The code counts more than the flags: some versions mark a fenced producer as abortable. A
/// failure without any flag is fatal (says librdkafka's header).
remedy remedy_of(const call_failure& failure) noexcept;

}  // namespace mortise::kafka::detail

#endif
