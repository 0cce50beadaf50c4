// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_INBOX_CONSUMER_HPP
#define MORTISE_KAFKA_INBOX_CONSUMER_HPP

#include "mortise/kafka/detail/consumer_stop.hpp"
#include "mortise/kafka/error.hpp"
#include "mortise/kafka/inbox_consumer_config.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <memory>
#include <utility>

namespace mortise::outbox {
class inbox;
}

namespace mortise::kafka {

/// Delivers committed records of Kafka topics to an inbox, from its construction on, as a member of
/// a consumer group. Each message has its effect exactly once.
///
/// The inbox's database stores the position in each partition, together with the effects, and
/// reading goes on from that position. The offset of the group is only for people to see. If the
/// partition does not contain the position, because its topic was made anew or retention was
/// faster, the partition is *refused*. An operator then decides where to go on
/// (`outbox::move_inbox`), and the consumer looks again when the partition is next assigned.
///
/// The source of a message is "CLUSTER/TOPIC/PARTITION", with the id of the cluster.
///
/// A thread of the consumer makes the calls of librdkafka. The consumer stays in its group while
/// the inbox is busy or cannot take anything. A partition is given back after what is under way for
/// it was committed.
///
/// @par Threads   All members: any.
/// @par Lifetimes The consumer may be destroyed at any time: a batch under way takes effect or not,
///                and the group is left in the background. Await `async_stop` to leave it in good
///                order. The consumer does not keep the context of its executor at work, and ends
///                with that context.
/// @par Cost      The cost of the inbox for each batch; a thread, and those of librdkafka: three,
///                and one for each broker. Fetching ahead takes up to 64 MiB (`kafka_config`).
class inbox_consumer {
public:
    using executor_type = asio::any_io_executor;

    /// Connects to nobody yet.
    /// @param to An inbox by offsets, or by offsets and ids. The latter passes over a message that
    ///           is published again, with the same id, at a new offset.
    /// @throws mortise::error (`bad_config`) that names the setting, and never shows a secret
    inbox_consumer(
        executor_type executor,
        std::shared_ptr<outbox::inbox> to,
        const inbox_consumer_config& config
    );
    ~inbox_consumer();
    inbox_consumer(inbox_consumer&&) noexcept;
    inbox_consumer& operator=(inbox_consumer&&) noexcept;

    executor_type get_executor() const noexcept;

    /// Lets the batch under way end, tells the group the position, and leaves the group.
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
