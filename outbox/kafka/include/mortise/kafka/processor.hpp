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

/// Reads topics of Kafka as a member of a consumer group, lets a handler make other records of
/// them, and writes those to Kafka. Each record is processed exactly once, for consumers that read
/// committed records.
///
/// The records made from a batch and the offsets behind that batch are committed in one
/// transaction. The commit names the present membership in the group, so a member that lost its
/// partitions commits nothing. A partition is given back after the running transaction has ended.
/// The next owner reads the uncommitted rest again, from the offsets of the group.
///
/// If the handler throws for a record, it is tried again with growing pauses. After the last
/// attempt the record goes to the dead-letter topic, or its partition is *refused* until it is
/// assigned anew.
///
/// @par Threads   All members: any.
/// @par Lifetimes What the handler refers to must live until `async_stop` is complete. The
///                processor may be destroyed at any time: a transaction under way is committed or
///                not, and the group is left in the background. The processor does not keep the
///                context of its executor at work, and ends with that context.
/// @par Cost      A transaction per batch. Two threads, and twice those of librdkafka: three, and
///                one for each broker.
class processor {
public:
    using executor_type = asio::any_io_executor;

    /// Connects to nobody yet.
    /// @throws mortise::error (`bad_config`) that names the setting, and never shows a secret
    processor(executor_type executor, const processor_config& config);
    ~processor();
    processor(processor&&) noexcept;
    processor& operator=(processor&&) noexcept;

    executor_type get_executor() const noexcept;

    /// Lets the running transaction and handler end, drops the records that were not begun, and
    /// leaves the group.
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
