// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_SQLITE_PARTICIPANT_HPP
#define MORTISE_TXN_SQLITE_PARTICIPANT_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/txn/outcome_source.hpp"
#include "mortise/txn/participant.hpp"
#include "mortise/txn/sweeper_config.hpp"
#include "mortise/txn/sweeper_stats.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace mortise::txn {

/// The work of a participant for one kind of call. It runs on the session's thread, in the
/// transaction in which its reply is stored.
///
/// An exception means that the effect is unknown. It undoes the writes of the work, and the call
/// comes again.
using call_work = std::function<reply(db::connection& on, const call& request)>;

namespace detail {
class participant_state;
void start_participant_stop(
    coro::detail::completion<void(error_code)> done, std::shared_ptr<participant_state> state
);
}  // namespace detail

/// A participant whose state is in an SQLite database. A `barrier` checks each call in the same
/// transaction as the work, so a call that comes twice, late, or out of order does no harm. The
/// barrier's rows of ended transactions are forgotten without your help.
///
/// @par Threads   All members may be called from any thread.
/// @par Lifetimes A session passed by reference must live until its last call has ended and
///                `async_stop` has completed, or until the context has ended. The destructor begins
///                a stop.
/// @par Cost      Per call: a part of a commit, and the cost of the barrier.
class sqlite_participant final : public participant {
public:
    using executor_type = asio::any_io_executor;

    /// @throws error (`bad_config`) if one of the three functions is empty.
    sqlite_participant(db::sqlite& database, call_work try_, call_work confirm, call_work cancel);
    /// The same for a shared session, which is kept until the last call has ended.
    sqlite_participant(
        std::shared_ptr<db::sqlite> database, call_work try_, call_work confirm, call_work cancel
    );
    ~sqlite_participant() override;

    executor_type get_executor() const noexcept;

    /// Does the work of the call, unless it was done before or may no longer be done. Answers after
    /// the commit.
    ///
    /// @return the reply; an error is one of `barrier::pass`, or one of the session. After an error
    ///         of the session the effect is unknown, except for `operation_aborted`: no effect.
    /// @par Errors       Exceptions of the work and of the barrier are thrown, with their text.
    /// @par Cancellation terminal: a call that waits for the session is removed, and returns
    ///                   `operation_aborted`. Once its work has begun a signal has no effect.
    /// @par Threads      Any thread.
    asio::awaitable<result<reply>> carry_out(call request) override;

    /// Begins to look for overdue reservations, and to ask their coordinator: see
    /// `overdue_sweeper`. Call it once.
    /// @throws error (`bad_config`) if the configuration breaks a limit.
    void sweep_overdue(std::shared_ptr<outcome_source> asks, sweeper_config how = sweeper_config());
    /// The counters of that sweeper; zero if there is none.
    sweeper_stats sweeper() const noexcept;

    /// Stops the sweeper. Calls are still carried out.
    ///
    /// @par Completion   `void(error_code)`, when the sweeper has ended.
    /// @par Cancellation ignored.
    /// @par Threads      Any thread. Completes by post to the handler's executor, never from
    ///                   inside.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &detail::start_participant_stop, state_
        );
    }

private:
    const std::shared_ptr<detail::participant_state> state_;
};

}  // namespace mortise::txn

#endif
