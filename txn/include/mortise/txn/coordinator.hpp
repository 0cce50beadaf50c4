// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_HPP
#define MORTISE_TXN_COORDINATOR_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/db/sqlite_stats.hpp"
#include "mortise/txn/coordinator_config.hpp"
#include "mortise/txn/coordinator_stats.hpp"
#include "mortise/txn/error.hpp"
#include "mortise/txn/intervention.hpp"
#include "mortise/txn/outcome.hpp"
#include "mortise/txn/transaction.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::txn {

namespace detail {

class coordinator_core;
using core_ptr = std::shared_ptr<coordinator_core>;
using outcome_handler = coro::detail::completion<void(error_code, outcome)>;

void start_run(outcome_handler handler, core_ptr core, transaction what);
void start_ask(outcome_handler handler, core_ptr core, gid which);
void start_settle(outcome_handler handler, core_ptr core, gid which);
void start_show(
    coro::detail::completion<void(error_code, std::optional<transaction_view>)> handler,
    core_ptr core,
    gid which
);
void start_list(
    coro::detail::completion<void(error_code, std::vector<transaction_view>)> handler,
    core_ptr core,
    list_filter which,
    std::uint64_t after,
    std::size_t limit
);
void start_intervene(
    coro::detail::completion<void(error_code)> handler, core_ptr core, intervention what
);
void start_log_stats(
    coro::detail::completion<void(error_code, db::sqlite_stats)> handler, core_ptr core
);
void start_stop(coro::detail::completion<void(error_code)> handler, core_ptr core);

}  // namespace detail

/// Carries transactions through: try, confirm, cancel, with a log that survives whatever happens to
/// the process.
///
/// Every branch of a transaction is asked to try. If all have succeeded it is decided to confirm,
/// else to cancel; the decision is on the disk before anybody hears of it, and every branch is
/// told, as often as it takes, also after a crash. What the log finds undecided after one is
/// cancelled (presumed abort).
///
/// A process that opens the log takes it over from whoever had it before: the one before can write
/// nothing any more, and says `stepped_down`.
///
/// Source: X. Pardon, C. Pautasso, "Towards Distributed Atomic Transactions over RESTful Services"
/// (2011); C. Mohan et al., "Transaction Management in the R* Distributed Database Management
/// System" (1986) for what must be forced.
///
/// @par Threads   All members: any.
/// @par Lifetimes It may be destroyed while transactions are under way: those that are not decided
///                are cancelled by whoever opens the log next. To have that done before, await
///                `async_stop`.
class coordinator {
public:
    using executor_type = asio::any_io_executor;

    /// Opens the log, which is I/O, and begins to finish what it finds there.
    /// @throws error if the configuration breaks a limit, or the log cannot be opened.
    coordinator(executor_type executor, coordinator_config config);
    ~coordinator();
    coordinator(coordinator&&) noexcept;
    coordinator& operator=(coordinator&&) noexcept;

    executor_type get_executor() const noexcept;

    /// Carries a transaction through, to its decision; the confirms or cancels follow by
    /// themselves.
    ///
    /// @par Completion   `void(error_code, outcome)`. With a code nothing was done, or, if it says
    ///                   so, it is not known whether it began, and it will be cancelled. Without
    ///                   one the outcome says what was decided; it is `unknown` if the log failed
    ///                   meanwhile or another coordinator took over: `async_outcome` knows later.
    /// @par Errors       `no_branches`, `too_many_branches`, `unknown_participant`,
    ///                   `payload_too_large`, `bad_order`, `bad_key`, `key_reused`,
    ///                   `too_many_open`, `stopped`, `stepped_down`, and what the log says:
    ///                   `mortise::errc::commit_unknown`, `poisoned`, codes of SQLite.
    /// @par Cancellation terminal, partial, total, all alike: what is not decided is cancelled, and
    ///                   the outcome says so (`withdrawn`); what is decided already is delivered.
    ///                   None, if the key is that of a transaction that another call began.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    /// @par Lifetimes    The transaction is moved in. Its leases are to be held until completion.
    /// @par Cost         Two forced writes, which transactions of the same moment share; two calls
    ///                   for each branch.
    template <class Token = asio::deferred_t>
    auto async_run(transaction what, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, outcome)>(
            get_executor(), std::forward<Token>(token), &detail::start_run, core_, std::move(what)
        );
    }

    /// What was decided of a transaction, from the log; the same for ever once it is decided.
    ///
    /// @par Completion   `void(error_code, outcome)`; `unknown` while it is not decided.
    /// @par Errors       `bad_gid`: of another log, or of none: there was no such transaction;
    ///                   `not_open`: it has ended, so long ago that nothing else is known;
    ///                   and what the log says.
    /// @par Cancellation none: it is one short read.
    /// @par Threads      as `async_run`.
    template <class Token = asio::deferred_t>
    auto async_outcome(gid which, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, outcome)>(
            get_executor(), std::forward<Token>(token), &detail::start_ask, core_, which
        );
    }

    /// Waits until every branch of the transaction is finished, and calls those at once that wait
    /// for their next attempt.
    ///
    /// @par Completion   `void(error_code, outcome)`.
    /// @par Errors       as `async_outcome`; `standby`: another coordinator finishes it;
    ///                   `stopped`, `stepped_down`.
    /// @par Cancellation terminal, partial, total, all alike: nobody waits any more
    ///                   (`operation_aborted`), and the transaction goes on.
    /// @par Threads      as `async_run`.
    template <class Token = asio::deferred_t>
    auto async_settle(gid which, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, outcome)>(
            get_executor(), std::forward<Token>(token), &detail::start_settle, core_, which
        );
    }

    /// Takes no more transactions, cancels what is not decided, and closes the log. What is decided
    /// and not finished is left to whoever opens the log next; so is what the log does not take in
    /// `coordinator_config::stop_max`, as another process has locked it: that is `unknown` here.
    ///
    /// @par Completion   `void(error_code)`.
    /// @par Cancellation ignored.
    /// @par Threads      as `async_run`.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &detail::start_stop, core_
        );
    }

    /// What the log knows of a transaction; nothing if there is no such one any more.
    ///
    /// @par Completion   `void(error_code, std::optional<transaction_view>)`.
    /// @par Errors       `stopped`, and what the log says.
    /// @par Cancellation none: it is one short read.
    /// @par Threads      as `async_run`.
    template <class Token = asio::deferred_t>
    auto async_show(gid which, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, std::optional<transaction_view>)>(
            get_executor(), std::forward<Token>(token), &detail::start_show, core_, which
        );
    }

    /// The transactions with a number after `after`, in the order of their numbers, at most
    /// `limit`. Call again with the last number for the next page.
    ///
    /// @par Completion   `void(error_code, std::vector<transaction_view>)`; without the actions of
    ///                   operators.
    /// @par Errors       `stopped`, and what the log says.
    /// @par Cancellation none.
    /// @par Threads      as `async_run`.
    /// @par Cost         A look at all that come after, if few of them are wanted.
    template <class Token = asio::deferred_t>
    auto
    async_list(list_filter which, std::uint64_t after, std::size_t limit, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, std::vector<transaction_view>)>(
            get_executor(),
            std::forward<Token>(token),
            &detail::start_list,
            core_,
            which,
            after,
            limit
        );
    }

    /// Does what an operator wants done about a transaction, and remembers who and why.
    ///
    /// @par Completion   `void(error_code)`, when it is on the disk.
    /// @par Errors       `not_open`: it is not under way here; `not_stuck`: no such branch is;
    ///                   `stopped`, and what the log says.
    /// @par Cancellation none.
    /// @par Threads      as `async_run`.
    template <class Token = asio::deferred_t>
    auto async_intervene(intervention what, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(),
            std::forward<Token>(token),
            &detail::start_intervene,
            core_,
            std::move(what)
        );
    }

    /// What the session with the log has done since it was opened: records, and the commits that
    /// they shared.
    ///
    /// @par Completion   `void(error_code, db::sqlite_stats)`.
    /// @par Errors       `stopped`, or why the log cannot be used.
    /// @par Cancellation none.
    /// @par Threads      as `async_run`.
    template <class Token = asio::deferred_t>
    auto async_log_stats(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, db::sqlite_stats)>(
            get_executor(), std::forward<Token>(token), &detail::start_log_stats, core_
        );
    }

    coordinator_stats stats() const noexcept;

private:
    std::shared_ptr<detail::coordinator_core> core_;
};

}  // namespace mortise::txn

#endif
