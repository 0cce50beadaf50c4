// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_OUTCOME_DESK_HPP
#define MORTISE_TXN_COORDINATOR_OUTCOME_DESK_HPP

#include "coordinator/coordinator_context.hpp"
#include "coordinator/running.hpp"
#include "log/log_entries.hpp"
#include "mortise/txn/gid.hpp"

#include <vector>

namespace mortise::txn::detail {

/// Answers questions about transactions, and waits for their end.
///
/// A settler waits at a transaction that is in memory. Any other transaction is read in the log,
/// and is taken up if it is ours and has not ended. While a partition may still become ours,
/// settlers wait for that first: a transaction of a partition that nobody serves yet has no end to
/// wait for.
///
/// @par Threads The strand, except for the members marked "Any thread".
class outcome_desk final : coordinator_part {
public:
    outcome_desk(coordinator_core& core, coordinator_context& context) noexcept
        : coordinator_part(core, context) {}

    /// Any thread. Answers with what the log says now.
    void ask(const gid& gid, outcome_handler handler);
    /// Any thread. Answers at the end of the transaction, and hurries it.
    void settle(const gid& gid, outcome_handler handler);

    /// Ends a wait that was cancelled.
    void dismiss(const settler& waiter);
    /// Answers with what the log knows now.
    void settle_by_log(const settler_ptr& waiter);

    /// Serves the settlers that waited for a partition.
    void settle_early();
    /// Answers the settlers that waited for a partition in vain.
    void drop_early(error_code why);
    /// Takes them out, for the end of the context.
    std::vector<settler_ptr> take_early() noexcept;

    /// Translates the record of a decision; an open transaction has the outcome unknown.
    static outcome outcome_in(const gid& gid, const log::verdict& verdict);

private:
    /// Calls `answer(error_code, outcome)` on the strand.
    template <class Answer>
    void ask_log(const gid& gid, Answer answer);
    void settle_now(const settler_ptr& waiter);
    /// For a transaction that is not in memory: it has ended, or the recovery has not reached it.
    void settle_logged(const settler_ptr& waiter);

    std::vector<settler_ptr> early_;  ///< Settlers that wait for a partition.
};

}  // namespace mortise::txn::detail

#endif
