// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_CLUSTER_HPP
#define MORTISE_KAFKA_CLUSTER_HPP

#include "mortise/coro/worker.hpp"
#include "mortise/kafka/detail/cluster_job.hpp"
#include "mortise/kafka/error.hpp"
#include "mortise/kafka/kafka_config.hpp"
#include "mortise/kafka/topic_wish.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace mortise::kafka {

/// Answers questions about a cluster: its id, its topics, and the newest record of a key. A thread
/// of its own asks them, one after the other.
///
/// @par Threads   All members: any.
/// @par Lifetimes The destructor does not wait: it gives up the operation that runs.
class cluster {
public:
    using executor_type = asio::any_io_executor;

    /// Connects to nobody yet.
    /// @throws mortise::error (`bad_config`) that names the setting, and never shows a secret
    cluster(executor_type executor, kafka_config config);
    ~cluster();
    cluster(const cluster&) = delete;
    cluster& operator=(const cluster&) = delete;

    executor_type get_executor() const noexcept { return worker_->get_executor(); }

    /// Asks for the id that the cluster got when it was created. Another cluster at the same
    /// address has another id.
    ///
    /// @par Completion   `void(error_code, std::string)`
    /// @par Errors       `mortise::errc::bad_config`: librdkafka rejects the settings, or a
    ///                   certificate is missing, as `trouble` says; of `kafka_category`:
    ///                   `_TIMED_OUT` after `answer_wait_max`, `condition::not_authorized`;
    ///                   `operation_aborted`.
    /// @par Cancellation terminal, partial, total: while it is queued.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_id(Token&& token = Token{}) {
        return worker_->async_run(detail::id_job(core_), std::forward<Token>(token));
    }

    /// Creates a topic, or checks that the existing one is as requested. Never changes a topic. If
    /// the login may not read the settings of the topic, its clean-up policy is not checked. A
    /// topic that must be compacted must not also delete: it would forget the newest record of a
    /// key.
    ///
    /// @par Completion   `void(error_code, bool)`: whether this call created the topic.
    /// @par Errors       `errc::topic_differs`; those of `kafka_category`, as for `async_id`, and
    ///                   Kafka's objections (`INVALID_REPLICATION_FACTOR`, `POLICY_VIOLATION`).
    /// @par Cancellation terminal, partial, total: while it is queued.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_ensure_topic(topic_wish topic, Token&& token = Token{}) {
        return worker_->async_run(
            detail::topic_job(core_, std::move(topic)), std::forward<Token>(token)
        );
    }

    /// Asks how many partitions a topic has; zero if there is no such topic. Asking never creates
    /// it.
    ///
    /// @par Completion   `void(error_code, int)`.
    /// @par Errors       Those of `kafka_category`, as for `async_id`.
    /// @par Cancellation terminal, partial, total: while it is queued.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_partitions(std::string topic, Token&& token = Token{}) {
        return worker_->async_run(
            detail::partitions_job(core_, std::move(topic)), std::forward<Token>(token)
        );
    }

    /// Reads the newest committed record of a key in one partition.
    ///
    /// It reads up to the true end that the partition has when the read begins. If a transaction is
    /// open there, it waits for the end of that transaction. So after `async_init` of the only
    /// producer that writes there, the result is final.
    ///
    /// @par Completion   `void(error_code, std::optional<found_record>)`; empty if there is no
    ///                   record at `from` or after it.
    /// @par Errors       `errc::still_open` after `answer_wait_max`; `errc::offset_gone` if the
    ///                   partition ends before `from`; those of `kafka_category`, as for
    ///                   `async_id`, and `condition::unknown_topic`.
    /// @par Cancellation terminal, partial, total: while it is queued.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    /// @par Cost         Two short-lived connections, and every record from `from` on.
    template <class Token = asio::deferred_t>
    auto async_last_record(
        std::string topic,
        std::int32_t partition,
        std::string key,
        std::int64_t from = 0,
        Token&& token = Token{}
    ) {
        return worker_->async_run(
            detail::last_record_job(core_, std::move(topic), partition, std::move(key), from),
            std::forward<Token>(token)
        );
    }

    /// The last failure in the words of librdkafka, without secrets: a connection, a name that is
    /// not found, a login. Empty if something has worked since. Operations complete with a code
    /// alone; show this text to people beside it.
    ///
    /// @par Threads Any.
    std::string trouble() const;

    /// Ends the running operation soon, and later ones at once, with `operation_aborted`. Does not
    /// wait.
    void stop() noexcept;

private:
    const std::shared_ptr<detail::cluster_core> core_;
    const std::unique_ptr<coro::worker> worker_;
};

}  // namespace mortise::kafka

#endif
