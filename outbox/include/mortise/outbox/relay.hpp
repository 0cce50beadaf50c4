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

/// Sends what is in the message table of a database, from when it is made: messages with the same
/// key in the order in which they were committed, each together with the mark that says how far it
/// got. It sleeps until a commit rings, in whatever process of the host, and looks once in a while
/// (`relay_config::look_every`) for one whose writer died before it could ring.
///
/// A message that the sink will never take is *parked*, and what has its topic and key waits behind
/// it. Whatever else goes wrong is tried again, but for one thing: where the mark at the sink and
/// the database contradict each other (one of them was restored, or replaced) the shard is
/// *refused*, until an operator has said where to go on (`rebase`).
///
/// @par Threads   All members: any.
/// @par Lifetimes It may be destroyed at any time; a batch under way is sent or not, and its mark
///                with it. To let the sinks be closed in good order await `async_stop`. With
///                nothing to do it does not keep the context of its executor at work, and it ends
///                with that, too.
/// @par Cost      Per batch one read and one fdatasync; writes only for what is purged or parked.
///                At rest one short read for each `look_every`.
class relay {
public:
    using executor_type = asio::any_io_executor;

    /// Opens the database, which is I/O.
    /// @throws error if the configuration breaks a limit, or the database cannot be opened.
    relay(executor_type executor, relay_config config);
    ~relay();
    relay(relay&&) noexcept;
    relay& operator=(relay&&) noexcept;

    executor_type get_executor() const noexcept;

    /// Waits until everything is sent, or parked, that was committed before; not for what is not
    /// due yet. Of what another relay sends it hears when that one purges.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Errors       why a shard is refused; `stopped`, and what the database says.
    /// @par Cancellation none.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_drained(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &detail::start_drained, core_
        );
    }

    /// Waits until the relay hears of commits: what is committed and rung for from then on is sent
    /// without waiting for the next look (`relay_config::look_every`). What was committed before is
    /// read anyway.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Errors       `stopped`; `operation_aborted`.
    /// @par Cancellation terminal, partial, total, all alike: nobody waits any more.
    /// @par Threads      as `async_drained`.
    template <class Token = asio::deferred_t>
    auto async_wait_listening(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &detail::start_listening, core_
        );
    }

    /// Lets the batches that are under way end, gives the shards away and closes the sinks.
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

    /// Counts what waits in the table: for a `/metrics` page, with `prometheus_text`.
    ///
    /// @par Completion   `void(error_code, relay_lag)`.
    /// @par Errors       `stopped`; `not_an_outbox` before the relay has made its tables; what the
    ///                   database says.
    /// @par Cancellation none: it is one read.
    /// @par Threads      as `async_drained`.
    /// @par Cost         It counts the rows that are waiting; nobody who writes waits for that.
    template <class Token = asio::deferred_t>
    auto async_lag(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, relay_lag)>(
            get_executor(), std::forward<Token>(token), &detail::start_lag, core_
        );
    }

    /// By the numbers of the shards.
    std::vector<shard_status> status() const;
    /// Of all shards together.
    relay_stats stats() const;

private:
    std::shared_ptr<detail::relay_core> core_;
};

}  // namespace mortise::outbox

#endif
