// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_TRANSACTIONAL_PRODUCER_HPP
#define MORTISE_KAFKA_TRANSACTIONAL_PRODUCER_HPP

#include "mortise/coro/worker.hpp"
#include "mortise/kafka/detail/producer_job.hpp"
#include "mortise/kafka/error.hpp"
#include "mortise/kafka/kafka_config.hpp"
#include "mortise/kafka/transaction_outcome.hpp"

#include <memory>
#include <string>
#include <utility>

namespace mortise::kafka {

/// Commits batches of records to Kafka, each as a whole or not at all.
///
/// There is one living producer of a transactional id: a new one's `async_init` fences the older,
/// whatever that still has under way is aborted, and from then on it is `lost`. So read how far the
/// older one came only after `async_init`.
///
/// librdkafka's calls block, so a thread of the producer's own makes them.
///
/// @par Threads      All members: any. Transactions run one after the other.
/// @par Lifetimes    The destructor does not wait: what runs is given up, and the handle is closed
///                   in the background. `async_stop` waits for both. A forked child must not use
///                   it.
/// @par Cost         A thread, and those of librdkafka: three, and one for each broker.
class transactional_producer {
public:
    using executor_type = asio::any_io_executor;

    /// Asks nobody yet.
    /// @throws mortise::error (`bad_config`) that names the setting, and never shows a secret
    transactional_producer(
        executor_type executor, kafka_config config, const std::string& transactional_id
    );
    ~transactional_producer();
    transactional_producer(const transactional_producer&) = delete;
    transactional_producer& operator=(const transactional_producer&) = delete;

    executor_type get_executor() const noexcept { return worker_->get_executor(); }

    /// Fences older producers of the same transactional id, and has their last transaction settled.
    /// To be called once, with success, before the first transaction.
    ///
    /// @par Completion   `void(error_code)`
    /// @par Errors       `mortise::errc::bad_config`: librdkafka does not take the settings, or a
    ///                   certificate is missing, as `trouble` says;
    ///                   `condition::not_authorized`; `_TIMED_OUT` of `kafka_category` after
    ///                   `init_wait_max`: call it again; `condition::fenced` and whatever else is
    ///                   fatal: make a new producer (then it is `errc::lost` here);
    ///                   `operation_aborted` (cancelled while queued, or stopped).
    /// @par Cancellation terminal, partial, total: as long as it is queued. `stop` ends it.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_init(Token&& token = Token{}) {
        return worker_->async_run(detail::init_job(core_), std::forward<Token>(token));
    }

    /// Runs a transaction.
    ///
    /// Records go out in order; `batch.last` when all others are acknowledged. An empty batch
    /// succeeds, and nothing is sent.
    ///
    /// @par Completion   `void(error_code, transaction_outcome)`. The code is set only where the
    ///                   transaction did not begin; all else says the outcome.
    /// @par Errors       `coro::errc::queue_full`, `operation_aborted` (cancelled while queued).
    /// @par Cancellation terminal, partial, total: as long as it is queued. Once it runs a signal
    ///                   has no effect; `stop` ends it.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    /// @par Lifetimes    The batch is moved in.
    /// @par Cost         Some five round trips to the cluster; the records are copied once.
    template <class Token = asio::deferred_t>
    auto async_transaction(transaction_batch batch, Token&& token = Token{}) {
        return worker_->async_run(
            detail::transaction_job(core_, std::move(batch)), std::forward<Token>(token)
        );
    }

    /// What failed last, as librdkafka says it, without secrets: a connection, a login, or
    /// `async_init` itself. Empty: nothing since something worked. An operation completes with
    /// a code alone; this is for people to read beside it.
    ///
    /// @par Threads Any.
    std::string trouble() const;

    /// What runs ends within about two seconds, what is queued or comes later at once: transactions
    /// with `lost` and `operation_aborted`. Does not wait.
    void stop() noexcept;

    /// `stop`, and closes the connections.
    ///
    /// @par Completion   `void(error_code)`, when they are closed.
    /// @par Errors       `operation_aborted` if the signal came first.
    /// @par Cancellation terminal, partial, total: it is stopped nevertheless.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        stop();
        return worker_->async_run(detail::close_job(core_), std::forward<Token>(token));
    }

private:
    const std::shared_ptr<producer_core> core_;
    const std::shared_ptr<coro::worker> worker_;
};

}  // namespace mortise::kafka

#endif
