// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_ERROR_HPP
#define MORTISE_TXN_ERROR_HPP

#include "mortise/error.hpp"

namespace mortise::txn {

/// Errors of transactions, and reasons why one was cancelled. The message of each code says what to
/// do. Codes after which another run may succeed match `mortise::condition::retryable`: the
/// transaction was cancelled, or is not decided. Codes of transactions that cannot be run match
/// `bad_argument`.
enum class errc : int {
    // Why a transaction was cancelled.
    refused = 1,  ///< A participant refused its try.
    no_answer,    ///< A participant gave no clear answer to its try, in any attempt.
    deadline,     ///< Not all tries had succeeded when the transaction's time was up.
    withdrawn,    ///< The caller cancelled it, or the coordinator was stopped.
    lock_lost,    ///< A lock of the transaction was lost before the decision.
    interrupted,  ///< Its coordinator ended before the decision.
    forced,       ///< An operator cancelled it.

    // Arguments.
    no_branches,          ///< A transaction has at least one branch.
    too_many_branches,    ///< A transaction has at most 1,024 branches.
    unknown_participant,  ///< The coordinator has no participant of that name.
    payload_too_large,    ///< A payload is longer than the coordinator's limit.
    bad_order,            ///< A branch may come only after branches that were added before it.
    bad_key,              ///< A key has 1 to 255 bytes.
    key_reused,           ///< The key belongs to a transaction with other branches.
    bad_gid,              ///< The text names no transaction.

    // Coordinators and their log.
    standby,            ///< Other coordinators hold all the partitions just now.
    stepped_down,       ///< Another coordinator took over and finishes the transactions under way.
    stopped,            ///< The coordinator was stopped.
    not_a_log,          ///< The database is not the log of a coordinator.
    log_missing,        ///< There is no log, and none may be created.
    newer_log,          ///< The log was written by a newer mortise.
    log_corrupt,        ///< A record of the log contradicts itself.
    foreign_epochs,     ///< The log's epochs came from the locks of another store.
    participant_ahead,  ///< A participant has seen what the log does not know: an old copy?
    too_many_open,      ///< As many as may are under way, or wait for one of its participants.
    not_open,           ///< The transaction is decided or forgotten: there is nothing to do.
    not_stuck,          ///< No call of that branch is stuck.

    // Participants.
    late_try,        ///< The try came after its cancel, or after the end of its transaction.
    unknown_branch,  ///< A confirm came for a branch that was never tried.
    conflict,        ///< The branch was already finished the other way.
    stale_epoch,     ///< A newer coordinator has called before: this one was replaced.
    call_failed,     ///< The participant failed, or its answer is not clear.
    call_too_late,   ///< The participant did not answer in time.

    old_log,  ///< The log is older than the mark in the file beside it: an old copy.

    wrong_work,  ///< The participant needs a closure for another kind of connection, or none.
};

const boost::system::error_category& error_category() noexcept;

inline error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

}  // namespace mortise::txn

template <>
struct boost::system::is_error_code_enum<mortise::txn::errc> : std::true_type {};

#endif
