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

/// What a cluster is, which topics it has, and the newest record of a key. A thread of its own
/// asks, one thing after the other.
///
/// @par Threads   All members: any.
/// @par Lifetimes The destructor does not wait: what runs is given up.
class cluster {
public:
    using executor_type = asio::any_io_executor;

    /// Asks nobody yet.
    /// @throws mortise::error (`bad_config`) that names the setting, and never shows a secret
    cluster(executor_type executor, kafka_config config);
    ~cluster();
    cluster(const cluster&) = delete;
    cluster& operator=(const cluster&) = delete;

    executor_type get_executor() const noexcept { return worker_->get_executor(); }

    /// The id that the cluster got when it was made; another cluster at the same address has
    /// another.
    ///
    /// @par Completion   `void(error_code, std::string)`
    /// @par Errors       `mortise::errc::bad_config`: librdkafka does not take the settings, or a
    ///                   certificate is missing, as `trouble` says; those of `kafka_category`:
    ///                   `_TIMED_OUT` after `answer_wait_max`, `condition::not_authorized`;
    ///                   `operation_aborted`.
    /// @par Cancellation terminal, partial, total: as long as it is queued.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_id(Token&& token = Token{}) {
        return worker_->async_run(detail::id_job(core_), std::forward<Token>(token));
    }

    /// Makes a topic, or finds that it is there and is what was wished for. It is never changed.
    /// Where the login may not look at its settings, its clean-up policy is believed. One that
    /// is to be compacted must not delete as well: it would forget the newest record of a key.
    ///
    /// @par Completion   `void(error_code, bool)`: whether it was made just now.
    /// @par Errors       `errc::topic_differs`; those of `kafka_category`, as for `async_id`, and
    ///                   what Kafka objects to (`INVALID_REPLICATION_FACTOR`,
    ///                   `POLICY_VIOLATION`).
    /// @par Cancellation terminal, partial, total: as long as it is queued.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_ensure_topic(topic_wish wish, Token&& token = Token{}) {
        return worker_->async_run(
            detail::topic_job(core_, std::move(wish)), std::forward<Token>(token)
        );
    }

    /// How many partitions a topic has; zero if it is not there. It is never made by that.
    ///
    /// @par Completion   `void(error_code, int)`.
    /// @par Errors       Those of `kafka_category`, as for `async_id`.
    /// @par Cancellation terminal, partial, total: as long as it is queued.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_partitions(std::string topic, Token&& token = Token{}) {
        return worker_->async_run(
            detail::partitions_job(core_, std::move(topic)), std::forward<Token>(token)
        );
    }

    /// The newest committed record of a key in one partition.
    ///
    /// Reads to the true end of the partition as it is when this begins. If a transaction is open
    /// there, it waits for its end: so after `async_init` of the only producer that writes there,
    /// what this finds is the truth.
    ///
    /// @par Completion   `void(error_code, std::optional<found_record>)`; none if there is none at
    ///                   `from` or after it.
    /// @par Errors       `errc::still_open` after `answer_wait_max`; `errc::offset_gone` if the
    ///                   partition ends before `from`; those of `kafka_category`, as for
    ///                   `async_id`, and `condition::unknown_topic`.
    /// @par Cancellation terminal, partial, total: as long as it is queued.
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

    /// What failed last, as librdkafka says it, without secrets: a connection, a name that is
    /// not found, a login. Empty: nothing since something worked. An operation completes with
    /// a code alone; this is for people to read beside it.
    ///
    /// @par Threads Any.
    std::string trouble() const;

    /// What runs ends soon, and what comes later at once, with `operation_aborted`. Does not wait.
    void stop() noexcept;

private:
    const std::shared_ptr<cluster_core> core_;
    const std::unique_ptr<coro::worker> worker_;
};

}  // namespace mortise::kafka

#endif
