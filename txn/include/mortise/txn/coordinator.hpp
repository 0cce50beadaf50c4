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

void start_run(outcome_handler handler, core_ptr core, transaction transaction);
void start_ask(outcome_handler handler, core_ptr core, gid gid);
void start_settle(outcome_handler handler, core_ptr core, gid gid);
void start_show(
    coro::detail::completion<void(error_code, std::optional<transaction_view>)> handler,
    core_ptr core,
    gid gid
);
void start_list(
    coro::detail::completion<void(error_code, std::vector<transaction_view>)> handler,
    core_ptr core,
    list_filter filter,
    std::uint64_t after,
    std::size_t limit
);
void start_intervene(
    coro::detail::completion<void(error_code)> handler, core_ptr core, intervention order
);
void start_log_stats(
    coro::detail::completion<void(error_code, db::sqlite_stats)> handler, core_ptr core
);
void start_stop(coro::detail::completion<void(error_code)> handler, core_ptr core);

}  // namespace detail

/// Runs transactions: tries, confirms or cancels their branches, and keeps its decisions in a log
/// that survives the process.
///
/// The coordinator asks every branch to try. If all tries succeed it decides to confirm, else to
/// cancel. The decision is durable before anybody hears of it. Then the coordinator calls every
/// branch until it is finished, also after a crash. Transactions that a restart finds undecided are
/// cancelled (presumed abort).
///
/// Without `coordinator_config::locks`, a process that opens the log takes it over from the process
/// that had it before. The earlier one can no longer write, and reports `stepped_down`.
///
/// Source: X. Pardon, C. Pautasso, "Towards Distributed Atomic Transactions over RESTful Services"
/// (2011); C. Mohan et al., "Transaction Management in the R* Distributed Database Management
/// System" (1986) for the records that must be forced.
///
/// @par Threads   All members may be called from any thread.
/// @par Lifetimes The coordinator may be destroyed while transactions are under way. Whoever opens
///                the log next cancels the undecided ones. To cancel them before, await
///                `async_stop`.
class coordinator {
public:
    using executor_type = asio::any_io_executor;

    /// Opens the log, which is I/O, and begins to finish the transactions that it finds there.
    /// @throws error if the configuration breaks a limit, or the log cannot be opened.
    coordinator(executor_type executor, coordinator_config config);
    ~coordinator();
    coordinator(coordinator&&) noexcept;
    coordinator& operator=(coordinator&&) noexcept;

    executor_type get_executor() const noexcept;

    /// Runs a transaction up to its decision. The confirms or cancels follow in the background.
    ///
    /// @par Completion   `void(error_code, outcome)`. With a code, nothing was done; after
    ///                   `commit_unknown` the transaction may have begun, and will be cancelled.
    ///                   Without a code, the outcome is the decision. It is `unknown` if the log
    ///                   failed meanwhile, another coordinator took over, or the only branch was
    ///                   committed by itself and cannot be asked: ask `async_outcome` later.
    /// @par Errors       `no_branches`, `too_many_branches`, `unknown_participant`,
    ///                   `payload_too_large`, `wrong_work`, `bad_order`, `bad_key`, `key_reused`,
    ///                   `mortise::errc::duration_negative` (the deadline); `too_many_open`;
    ///                   `no_answer`: a participant does not answer now; `participant_ahead`: one
    ///                   has seen something that the log does not know; `standby`, `stopped`,
    ///                   `stepped_down`; and the errors of the log:
    ///                   `mortise::errc::commit_unknown`, `poisoned`, codes of SQLite.
    /// @par Cancellation terminal, partial, total; all mean the same: an undecided transaction is
    ///                   cancelled, and the outcome says so (`withdrawn`). A signal after the
    ///                   decision has no effect: the outcome is delivered. A signal also has no
    ///                   effect if another call began the transaction with the same key.
    /// @par Threads      Any thread. Completes by post to the handler's executor, never from
    ///                   inside.
    /// @par Lifetimes    The transaction is moved in. Hold its leases until completion.
    /// @par Cost         Two forced writes, which simultaneous transactions share; two calls for
    ///                   each branch. One forced write if all participants prepare and there is no
    ///                   key, and none if one of these has the only branch.
    template <class Token = asio::deferred_t>
    auto async_run(transaction transaction, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, outcome)>(
            get_executor(),
            std::forward<Token>(token),
            &detail::start_run,
            core_,
            std::move(transaction)
        );
    }

    /// Reads the decision on a transaction from the log. Once decided, it never changes.
    ///
    /// @par Completion   `void(error_code, outcome)`; `unknown` while it is not decided.
    /// @par Errors       `bad_gid`: the id belongs to another log, or no such transaction existed;
    ///                   `not_open`: it ended so long ago that the log has forgotten the outcome,
    ///                   or a power failure has lost it, where its begin was not forced;
    ///                   and the errors of the log.
    /// @par Cancellation none: it is one short read.
    /// @par Threads      as `async_run`.
    template <class Token = asio::deferred_t>
    auto async_outcome(gid gid, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, outcome)>(
            get_executor(), std::forward<Token>(token), &detail::start_ask, core_, gid
        );
    }

    /// Waits until every branch of the transaction is finished. Branches that pause before their
    /// next attempt are called at once.
    ///
    /// @par Completion   `void(error_code, outcome)`.
    /// @par Errors       as `async_outcome`; `standby`: another coordinator finishes it;
    ///                   `stopped`, `stepped_down`.
    /// @par Cancellation terminal, partial, total; all mean the same: the wait ends
    ///                   (`operation_aborted`), and the transaction goes on.
    /// @par Threads      as `async_run`.
    template <class Token = asio::deferred_t>
    auto async_settle(gid gid, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, outcome)>(
            get_executor(), std::forward<Token>(token), &detail::start_settle, core_, gid
        );
    }

    /// Takes no new transactions, cancels the undecided ones, and closes the log. Decided
    /// transactions that are not finished are left to whoever opens the log next. So are those that
    /// the log cannot take in `coordinator_config::stop_max`, because another process has locked
    /// it: their outcome is `unknown` here.
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

    /// Reads all that the log knows of a transaction; empty if it never existed or was forgotten.
    ///
    /// @par Completion   `void(error_code, std::optional<transaction_view>)`.
    /// @par Errors       `stopped`, and the errors of the log.
    /// @par Cancellation none: it is one short read.
    /// @par Threads      as `async_run`.
    template <class Token = asio::deferred_t>
    auto async_show(gid gid, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code, std::optional<transaction_view>)>(
            get_executor(), std::forward<Token>(token), &detail::start_show, core_, gid
        );
    }

    /// Lists the transactions with a number above `after`, in the order of their numbers, at most
    /// `limit`. Call again with the last number for the next page.
    ///
    /// @par Completion   `void(error_code, std::vector<transaction_view>)`; without the actions of
    ///                   operators.
    /// @par Errors       `stopped`, and the errors of the log.
    /// @par Cancellation none.
    /// @par Threads      as `async_run`.
    /// @par Cost         A scan of all transactions above `after`, if few of them match the filter.
    template <class Token = asio::deferred_t>
    auto async_list(
        list_filter filter, std::uint64_t after, std::size_t limit, Token&& token = Token{}
    ) {
        return coro::detail::async_start<void(error_code, std::vector<transaction_view>)>(
            get_executor(),
            std::forward<Token>(token),
            &detail::start_list,
            core_,
            filter,
            after,
            limit
        );
    }

    /// Carries out an operator's order about a transaction, and records who gave it and why.
    ///
    /// @par Completion   `void(error_code)`, when it is durable.
    /// @par Errors       `not_open`: the transaction is not under way here; `not_stuck`: no such
    ///                   branch is stuck; `stopped`, and the errors of the log.
    /// @par Cancellation none.
    /// @par Threads      as `async_run`.
    template <class Token = asio::deferred_t>
    auto async_intervene(intervention order, Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(),
            std::forward<Token>(token),
            &detail::start_intervene,
            core_,
            std::move(order)
        );
    }

    /// Counts the work of the session with the log since it was opened: records, and the commits
    /// that they shared.
    ///
    /// @par Completion   `void(error_code, db::sqlite_stats)`.
    /// @par Errors       `stopped`, or the reason why the log cannot be used.
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
