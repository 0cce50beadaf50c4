// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_ERROR_HPP
#define MORTISE_KAFKA_ERROR_HPP

#include "mortise/error.hpp"

namespace mortise::kafka {

/// The category of librdkafka's own codes, Kafka's (positive) and the client's (negative):
/// `code.value()` can be compared with `RD_KAFKA_RESP_ERR_...`. What passes by itself (a broker
/// that cannot be reached, a leader that moves) is `mortise::condition::retryable`.
const boost::system::error_category& kafka_category() noexcept;

/// A code of librdkafka as an error code; zero is success.
error_code kafka_error(int code) noexcept;

/// What can go wrong besides. The message of each code says what to do about it.
enum class errc : int {
    uncertain = 1,   ///< It is not known whether the transaction was committed.
    lost,            ///< The producer was lost before.
    not_ready,       ///< `async_init` has not succeeded yet.
    topic_differs,   ///< The topic exists, with other partitions or another clean-up policy.
    still_open,      ///< A transaction that is open hides the end of the partition.
    not_a_mark,      ///< What stands in the place of a shard's mark is none.
    offset_gone,     ///< The partition ends before the offset that was asked for.
    offset_removed,  ///< The partition begins after the offset that was asked for.
    foreign_inbox,   ///< An inbox in another database has dealt with the partition for the group.
    no_offset,       ///< The group has no offset for the partition: it is new, or that expired.
};

/// Classes of the codes above, for `==`.
enum class condition : int {
    fenced = 1,  ///< Another producer has the transactional id now, or our transaction timed out.
    not_authorized,  ///< The login is refused, or what it may not do.
    too_large,       ///< A record, or several together, are larger than the topic takes.
    unknown_topic,   ///< There is no such topic, or not that partition.
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
