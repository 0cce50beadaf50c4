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

/// Commits batches of records to Kafka, each one completely or not at all.
///
/// A transactional id has one living producer. `async_init` of a new one fences the older one,
/// aborts its open transaction, and leaves it `lost`. So read how far the older one came only after
/// `async_init`.
///
/// The calls of librdkafka block, so a thread of the producer makes them.
///
/// @par Threads      All members: any. Transactions run one after the other.
/// @par Lifetimes    The destructor does not wait: the running operation is given up, and the
///                   handle is closed in the background. `async_stop` waits for both. A forked
///                   child must not use the producer.
/// @par Cost         A thread, and those of librdkafka: three, and one for each broker.
class transactional_producer {
public:
    using executor_type = asio::any_io_executor;

    /// Connects to nobody yet.
    /// @throws mortise::error (`bad_config`) that names the setting, and never shows a secret
    transactional_producer(
        executor_type executor, kafka_config config, const std::string& transactional_id
    );
    ~transactional_producer();
    transactional_producer(const transactional_producer&) = delete;
    transactional_producer& operator=(const transactional_producer&) = delete;

    executor_type get_executor() const noexcept { return worker_->get_executor(); }

    /// Fences older producers of the same transactional id, and settles their last transaction.
    /// Must succeed once before the first transaction.
    ///
    /// @par Completion   `void(error_code)`
    /// @par Errors       `mortise::errc::bad_config`: librdkafka rejects the settings, or a
    ///                   certificate is missing, as `trouble` says; `condition::not_authorized`;
    ///                   `_TIMED_OUT` of `kafka_category` after `init_wait_max`: call it again;
    ///                   `condition::fenced` and other fatal errors: make a new producer (further
    ///                   calls give `errc::lost`); `operation_aborted` (cancelled while queued, or
    ///                   stopped).
    /// @par Cancellation terminal, partial, total: while it is queued. `stop` ends it later.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_init(Token&& token = Token{}) {
        return worker_->async_run(detail::init_job(core_), std::forward<Token>(token));
    }

    /// Runs a transaction.
    ///
    /// Records go out in order, and `batch.last` after all others are acknowledged. An empty batch
    /// succeeds, and nothing is sent.
    ///
    /// @par Completion   `void(error_code, transaction_outcome)`. The code is set only if the
    ///                   transaction did not begin; otherwise see the outcome.
    /// @par Errors       `coro::errc::queue_full`, `operation_aborted` (cancelled while queued).
    /// @par Cancellation terminal, partial, total: while it is queued. Later a signal has no
    ///                   effect; `stop` ends it.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    /// @par Lifetimes    The batch is moved in.
    /// @par Cost         About five round trips to the cluster; the records are copied once.
    template <class Token = asio::deferred_t>
    auto async_transaction(transaction_batch batch, Token&& token = Token{}) {
        return worker_->async_run(
            detail::transaction_job(core_, std::move(batch)), std::forward<Token>(token)
        );
    }

    /// The last failure in the words of librdkafka, without secrets: a connection, a login, or
    /// `async_init` itself. Empty if something has worked since. Operations complete with a code
    /// alone; show this text to people beside it.
    ///
    /// @par Threads Any.
    std::string trouble() const;

    /// Ends the running operation within about two seconds, and queued or later ones at once:
    /// transactions end with `lost` and `operation_aborted`. Does not wait.
    void stop() noexcept;

    /// Stops the producer (`stop`) and closes its connections.
    ///
    /// @par Completion   `void(error_code)`, when they are closed.
    /// @par Errors       `operation_aborted` if the signal came first.
    /// @par Cancellation terminal, partial, total: the producer is stopped nevertheless.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        stop();
        return worker_->async_run(detail::close_job(core_), std::forward<Token>(token));
    }

private:
    const std::shared_ptr<detail::producer_core> core_;
    const std::shared_ptr<coro::worker> worker_;
};

}  // namespace mortise::kafka

#endif
