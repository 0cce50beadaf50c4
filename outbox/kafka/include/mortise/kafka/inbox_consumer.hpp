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

/// Delivers what is committed in topics of Kafka to an inbox, from when it is made, as a member of
/// a consumer group: each message has its effect exactly once.
///
/// How far a partition was dealt with is in the inbox's own database, where the effects are, and it
/// is read from there on; the offset that the group has is for people to look at. Where that place
/// is not in the partition (the topic was made anew; retention was faster) the partition is
/// *refused*, until an operator has said where to go on (`outbox::move_inbox`); it is looked at
/// again when it is assigned the next time.
///
/// The source of a message is "CLUSTER/TOPIC/PARTITION", with the id of the cluster.
///
/// librdkafka's calls are made by a thread of its own. While the inbox is at work, or cannot take
/// anything, the consumer stays in its group. A partition is given back when what is under way for
/// it has been committed.
///
/// @par Threads   All members: any.
/// @par Lifetimes It may be destroyed at any time; a batch under way takes effect or not, and the
///                group is left in the background. To leave it in good order await `async_stop`.
///                It does not keep the context of its executor at work, and ends with that, too.
/// @par Cost      For each batch what the inbox says; a thread, and those of librdkafka: three, and
///                one for each broker. What is fetched ahead takes up to 64 MiB (`kafka_config`).
class inbox_consumer {
public:
    using executor_type = asio::any_io_executor;

    /// Asks nobody yet.
    /// @param to an inbox by offsets, or by offsets and ids: that passes over what is published
    ///           again, with its id, at a new offset
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

    /// Lets the batch that is under way end, tells the group how far it got, and leaves it.
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
