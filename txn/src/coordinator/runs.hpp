// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_RUNS_HPP
#define MORTISE_TXN_COORDINATOR_RUNS_HPP

#include "coordinator/coordinator_context.hpp"
#include "coordinator/running.hpp"
#include "log/durable_decision.hpp"
#include "log/log_entries.hpp"
#include "mortise/txn/error.hpp"
#include "mortise/txn/transaction.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mortise::txn::detail {

/// Admits transactions: checks them, refuses those for which there is no room, and begins the
/// others in the log, or joins them to an earlier one with the same key.
///
/// @par Threads The strand, except for `admit`.
class admission final : coordinator_part {
public:
    admission(coordinator_core& core, coordinator_context& context) noexcept
        : coordinator_part(core, context) {}

    /// Any thread.
    void admit(transaction transaction, outcome_handler handler);

    /// Begins the transactions that waited for a partition.
    void start_early();
    void drop_early(error_code why);
    std::vector<running_ptr> take_early() noexcept;

private:
    error_code check(const transaction& transaction) const;
    void start(const running_ptr& transaction);
    void begin(const running_ptr& transaction, partition& at);
    void begun(
        const running_ptr& transaction, partition& at, error_code failed, const log::begun& begun
    );
    void join(const running_ptr& transaction, const log::begun& begun);

    std::vector<running_ptr> early_;  ///< Transactions that wait for a partition.
    std::size_t beginning_ = 0;       ///< Transactions that wait for their number.
};

/// Takes transactions that have begun through their stages: tried, decided, finished, ended.
///
/// @par Threads The strand.
class runs final : coordinator_part {
public:
    runs(coordinator_core& core, coordinator_context& context) noexcept
        : coordinator_part(core, context) {}

    /// Gives a transaction up, on behalf of its caller.
    void withdraw(running& transaction);
    /// Cancels a transaction, unless it is being decided.
    void abort(running& transaction, errc why, std::string text = {});
    void carry_out(const running_ptr& transaction, const steps& next);
    void decide(const running_ptr& transaction, bool confirm);
    /// Writes the progress of a transaction in trouble to the log, for operators.
    void note(const running_ptr& transaction);

    /// Lets go of a transaction that is no longer open; others will finish it.
    void drop(const running_ptr& transaction, error_code why);
    /// As `drop`, without an event.
    void release(const running_ptr& transaction, error_code why);
    void drop_all(error_code why);
    void drop_all_in(const partition& home, error_code why);

private:
    friend struct planted_bugs;
    using action = core::tcc_fsm::action;

    void decided(
        const running_ptr& transaction,
        error_code failed,
        std::optional<log::durable_decision> proof
    );
    void was_decided(const running_ptr& transaction);
    void end(const running_ptr& transaction);
    void ended(const running_ptr& transaction, error_code failed);
};

}  // namespace mortise::txn::detail

#endif
