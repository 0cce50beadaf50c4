// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_RELAY_HPP
#define MORTISE_OUTBOX_RELAY_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/relay_config.hpp"
#include "mortise/outbox/relay_stats.hpp"
#include "mortise/outbox/shard_status.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace mortise::outbox {

namespace detail {

class relay_core;
using code_handler = coro::detail::completion<void(error_code)>;
using lag_handler = coro::detail::completion<void(error_code, relay_lag)>;

void start_drained(code_handler handler, std::shared_ptr<relay_core> core);
void start_lag(lag_handler handler, std::shared_ptr<relay_core> core);
void start_listening(code_handler handler, std::shared_ptr<relay_core> core);
void start_stop(code_handler handler, std::shared_ptr<relay_core> core);

}  // namespace detail

/// Sends the rows of a message table from its construction on. Messages with the same key go out in
/// the order of their commits, and each batch goes together with the mark that says how far it
/// reaches. The relay sleeps until a commit rings, in any process of the host. From time to time it
/// also looks (`relay_config::look_every`) for a commit whose writer died before it rang.
///
/// A message that the sink will never take is *parked*, and later messages with its topic and key
/// wait behind it. The relay retries after all other failures, with one exception. The mark at the
/// sink and the database may contradict each other, because one of them was restored or replaced.
/// The shard is then *refused* until an operator decides where to go on (`rebase`).
///
/// @par Threads   All members: any.
/// @par Lifetimes The relay may be destroyed at any time: a batch under way is sent together with
///                its mark, or not at all. Await `async_stop` to close the sinks in good order. An
///                idle relay does not keep the context of its executor at work, and ends with that
///                context.
/// @par Cost      One read and one fdatasync per batch. Writes only to take a shard, to purge, to
///                park, and to store the mark of a sink that keeps none. When idle, one short read
///                per `look_every`.
class relay {
public:
    using executor_type = asio::any_io_executor;

    /// Opens the database, which blocks for I/O.
    /// @throws error if the configuration breaks a limit, or the database cannot be opened.
    relay(executor_type executor, relay_config config);
    ~relay();
    relay(relay&&) noexcept;
    relay& operator=(relay&&) noexcept;

    executor_type get_executor() const noexcept;

    /// Waits until everything that was committed before this call is sent or parked, except
    /// messages that are not yet due. The relay learns what another relay has sent only when that
    /// one purges.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Errors       the reason why a shard is refused; `stopped`; the errors of the database.
    /// @par Cancellation none.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_drained(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &detail::start_drained, core_
        );
    }

    /// Waits until the relay hears of commits. What is committed and rung for after that is sent
    /// without waiting for the next look (`relay_config::look_every`). Earlier commits are read in
    /// any case.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Errors       `stopped`; `operation_aborted`.
    /// @par Cancellation terminal, partial, total; all mean the same: the wait ends.
    /// @par Threads      as `async_drained`.
    template <class Token = asio::deferred_t>
    auto async_wait_listening(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &detail::start_listening, core_
        );
    }

    /// Lets the batches under way end, gives up the shards and closes the sinks.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Cancellation ignored.
    /// @par Threads      as `async_drained`.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &detail::start_stop, core_
        );
    }

    /// Counts what waits in the table, for a `/metrics` page (see `prometheus_text`).
    ///
    /// @par Completion   `void(error_code, relay_lag)`.
    /// @par Errors       `stopped`; `not_an_outbox` before the relay has created its tables; the
    ///                   errors of the database.
    /// @par Cancellation none: it is one read.
    /// @par Threads      as `async_drained`.
    /// @par Cost         Counts the waiting rows; no writer waits for it.
    template <class Token = asio::deferred_t>
    auto async_lag(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, relay_lag)>(
            get_executor(), std::forward<Token>(token), &detail::start_lag, core_
        );
    }

    /// The shards, ordered by number. A batch is counted after its sink has acknowledged it, so a
    /// reader of the sink may see messages before they are counted here. What was sent before
    /// `async_drained` or `async_stop` completes is counted by then.
    std::vector<shard_status> status() const;
    /// The counters of all shards together, as exact as `status`.
    relay_stats stats() const;

private:
    std::shared_ptr<detail::relay_core> core_;
};

}  // namespace mortise::outbox

#endif
