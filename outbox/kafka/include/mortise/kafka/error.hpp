// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_ERROR_HPP
#define MORTISE_KAFKA_ERROR_HPP

#include "mortise/error.hpp"

namespace mortise::kafka {

/// The category of librdkafka's codes: Kafka's own (positive) and the client's (negative).
/// `code.value()` can be compared with `RD_KAFKA_RESP_ERR_...`. Temporary failures (a broker that
/// cannot be reached, a leader that moves) equal `mortise::condition::retryable`.
const boost::system::error_category& kafka_category() noexcept;

/// Turns a code of librdkafka into an error code; zero is success.
error_code kafka_error(int code) noexcept;

/// Errors of this library. The message of each code says what to do.
enum class errc : int {
    uncertain = 1,   ///< It is not known whether the transaction was committed.
    lost,            ///< The producer was already lost.
    not_ready,       ///< `async_init` has not succeeded yet.
    topic_differs,   ///< The topic exists, with other partitions or another clean-up policy.
    still_open,      ///< An open transaction hides the end of the partition.
    not_a_mark,      ///< The record in the place of a shard's mark is not a mark.
    offset_gone,     ///< The partition ends before the requested offset.
    offset_removed,  ///< The partition begins after the requested offset.
    foreign_inbox,   ///< An inbox in another database has handled the partition for the group.
    no_offset,       ///< The group has no offset for the partition: never had one, or it expired.
};

/// Classes of the codes above, to compare with `==`.
enum class condition : int {
    fenced = 1,      ///< Another producer has the transactional id, or our transaction timed out.
    not_authorized,  ///< The login is refused, or lacks a permission.
    too_large,       ///< A record, or several together, exceed the topic's limit.
    unknown_topic,   ///< The topic or the partition does not exist.
};

const boost::system::error_category& error_category() noexcept;
const boost::system::error_category& condition_category() noexcept;

inline error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

inline boost::system::error_condition make_error_condition(condition c) noexcept {
    return {static_cast<int>(c), condition_category()};
}

}  // namespace mortise::kafka

template <>
struct boost::system::is_error_code_enum<mortise::kafka::errc> : std::true_type {};
template <>
struct boost::system::is_error_condition_enum<mortise::kafka::condition> : std::true_type {};

#endif
