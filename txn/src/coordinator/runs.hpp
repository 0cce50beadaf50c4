// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_RUNS_HPP
#define MORTISE_TXN_COORDINATOR_RUNS_HPP

#include "coordinator/coordinator_context.hpp"
#include "coordinator/running.hpp"
#include "log/decision_log.hpp"
#include "mortise/txn/transaction.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mortise::txn::detail {

/// Takes transactions through their stages: begun, tried, decided, finished, ended.
///
/// @par Threads The strand, except for `run`.
class runs final : coordinator_part {
public:
    runs(coordinator_core& core, coordinator_context& context) noexcept
        : coordinator_part(core, context) {}

    /// Any thread.
    void run(transaction transaction, outcome_handler handler);

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

    /// Begins the transactions that waited for a partition.
    void start_early();
    void drop_early(error_code why);
    std::vector<running_ptr> take_early() noexcept;

private:
    friend struct planted_bugs;
    using action = core::tcc_fsm::action;

    error_code check(const transaction& transaction) const;
    void start(const running_ptr& transaction);
    void begin(const running_ptr& transaction, partition& at);
    void begun(
        const running_ptr& transaction, partition& at, error_code failed, const log::begun& begun
    );
    void join(const running_ptr& transaction, const log::begun& begun);
    void decided(
        const running_ptr& transaction,
        error_code failed,
        std::optional<log::durable_decision> proof
    );
    void was_decided(const running_ptr& transaction);
    void end(const running_ptr& transaction);
    void ended(const running_ptr& transaction, error_code failed);

    std::vector<running_ptr> early_;  ///< Transactions that wait for a partition.
    std::size_t beginning_ = 0;       ///< Transactions that wait for their number.
};

}  // namespace mortise::txn::detail

#endif
