// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_PROCESSOR_HPP
#define MORTISE_KAFKA_PROCESSOR_HPP

#include "mortise/kafka/detail/consumer_stop.hpp"
#include "mortise/kafka/error.hpp"
#include "mortise/kafka/processor_config.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <memory>
#include <utility>

namespace mortise::kafka {

/// Reads topics of Kafka as a member of a consumer group, has a handler make other records of what
/// it reads, and writes them to Kafka: exactly once, for those who read committed records.
///
/// The records of a batch and the offsets behind it are one transaction, in the name of the member
/// that the group knows at that moment: one that has lost its partitions commits nothing. A
/// partition is given back when the transaction that runs is over; what was read and not committed
/// is read again from the offsets of the group, by whoever has it next.
///
/// A record for which the handler throws is tried again with growing pauses, and in the end goes to
/// the dead-letter topic, or stops its partition, which is *refused* until it is assigned anew.
///
/// @par Threads   All members: any.
/// @par Lifetimes What the handler refers to lives until `async_stop` is complete. It may be
///                destroyed at any time; a transaction under way is committed or not, and the group
///                is left in the background. It does not keep the context of its executor at work,
///                and ends with that, too.
/// @par Cost      A transaction for each batch; two threads, and those of librdkafka: three, and
///                one for each broker, twice.
class processor {
public:
    using executor_type = asio::any_io_executor;

    /// Asks nobody yet.
    /// @throws mortise::error (`bad_config`) that names the setting, and never shows a secret
    processor(executor_type executor, const processor_config& config);
    ~processor();
    processor(processor&&) noexcept;
    processor& operator=(processor&&) noexcept;

    executor_type get_executor() const noexcept;

    /// Lets the transaction that is under way end, drops what was not begun, and leaves the group.
    /// A handler that runs is waited for.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Cancellation ignored.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &detail::start_stop_consumer, core_
        );
    }

private:
    std::shared_ptr<detail::group_consumer> core_;
};

}  // namespace mortise::kafka

#endif
