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

/// What a participant does for one kind of call, in the transaction in which its answer is
/// remembered. It runs on the session's thread.
///
/// What it throws says that it is not known what was done, and undoes what it wrote: the call comes
/// again.
using call_work = std::function<reply(db::connection& on, const call& request)>;

namespace detail {
class participant_state;
void start_participant_stop(
    coro::detail::completion<void(error_code)> done, std::shared_ptr<participant_state> state
);
}  // namespace detail

/// A participant whose state is in an SQLite database. A `barrier` stands before its work, in the
/// same transaction: a call that comes twice, late, or out of its order does no harm. What the
/// barrier remembers of transactions that have ended is forgotten by itself.
///
/// @par Threads   All members: any.
/// @par Lifetimes A session that is not shared has to live until its last call has ended and
///                `async_stop` has completed, or until the context has ended. The destructor begins
///                a stop.
/// @par Cost      Of a call: a part of a commit, and what the barrier costs.
class sqlite_participant final : public participant {
public:
    using executor_type = asio::any_io_executor;

    /// @throws error (`bad_config`) if one of the three is empty.
    sqlite_participant(db::sqlite& database, call_work try_, call_work confirm, call_work cancel);
    /// The same, for a session that others share: it is kept until the last call has ended.
    sqlite_participant(
        std::shared_ptr<db::sqlite> database, call_work try_, call_work confirm, call_work cancel
    );
    ~sqlite_participant() override;

    executor_type get_executor() const noexcept;

    /// Does the work of the call, unless it has been done or must not be done any more, and answers
    /// when that is committed.
    ///
    /// @return the answer; an error says what `barrier::pass` says, or that it is not known what
    ///         was done.
    /// @par Errors       What the session says, and what the work throws: thrown, with its text.
    /// @par Cancellation terminal: while the call waits for the session it is removed, and returns
    ///                   `operation_aborted`; once its work has begun a signal has no effect.
    /// @par Threads      Any.
    asio::awaitable<result<reply>> carry_out(call request) override;

    /// Looks from here on for reservations whose time is up, and asks their coordinator: see
    /// `overdue_sweeper`. Once.
    /// @throws error (`bad_config`) if the configuration breaks a limit.
    void sweep_overdue(std::shared_ptr<outcome_source> asks, sweeper_config how = sweeper_config());
    /// Of that look; zero if there is none.
    sweeper_stats sweeper() const noexcept;

    /// Looks and asks no more. Calls are still carried out.
    ///
    /// @par Completion   `void(error_code)`, when it has ended.
    /// @par Cancellation ignored.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
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
