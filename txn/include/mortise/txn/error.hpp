// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_ERROR_HPP
#define MORTISE_TXN_ERROR_HPP

#include "mortise/error.hpp"

namespace mortise::txn {

/// What can go wrong with a transaction, and why one was cancelled. The message of each code says
/// what to do about it. Of a transaction that is not decided, or was cancelled, for which another
/// run may succeed, it is `mortise::condition::retryable`; of what cannot be run, `bad_argument`.
enum class errc : int {
    // Why a transaction was cancelled.
    refused = 1,  ///< A participant refused its try.
    no_answer,    ///< A participant gave no clear answer to its try, however often it was asked.
    deadline,     ///< Not all tries had succeeded when the transaction's time was up.
    withdrawn,    ///< The caller cancelled it, or the coordinator was stopped.
    lock_lost,    ///< A lock that it ran under was lost before the decision.
    interrupted,  ///< Its coordinator ended before the decision.
    forced,       ///< An operator cancelled it.

    // Arguments.
    no_branches,          ///< A transaction has at least one branch.
    too_many_branches,    ///< A transaction has at most 1,024 branches.
    unknown_participant,  ///< No participant of that name was given to the coordinator.
    payload_too_large,    ///< A payload is longer than the coordinator's limit.
    bad_order,            ///< A branch comes only after branches that were added before it.
    bad_key,              ///< A key has 1 to 255 bytes.
    key_reused,           ///< The key belongs to a transaction with other branches.
    bad_gid,              ///< The text names no transaction.

    // Coordinators and their log.
    standby,         ///< Another coordinator decides just now, and none of the partitions is ours.
    stepped_down,    ///< Another coordinator took over: what was under way is finished there.
    stopped,         ///< The coordinator was stopped.
    not_a_log,       ///< The database belongs to something else than a coordinator.
    log_missing,     ///< There is no log, and none is to be made.
    newer_log,       ///< The log was written by a newer mortise.
    log_corrupt,     ///< A record of the log contradicts itself.
    foreign_epochs,  ///< The log's epochs came from the locks of another store.
    participant_ahead,  ///< A participant has seen what the log does not know: an old copy?
    too_many_open,      ///< So many transactions are under way as the coordinator takes.
    not_open,           ///< The transaction is decided or forgotten: there is nothing to do.
    not_stuck,          ///< No call of that branch is stuck.

    // Participants.
    late_try,        ///< The try came after its cancel, or after the end of its transaction.
    unknown_branch,  ///< There was no try of the branch that is to be confirmed.
    conflict,        ///< The branch was finished the other way before.
    stale_epoch,     ///< A newer coordinator has called before: this one was replaced.
    call_failed,     ///< The participant failed, or its answer says nothing.
    call_too_late,   ///< The participant did not answer in time.

    old_log,  ///< The log has less than its mark, the file beside it, has seen: an old copy.
};

const boost::system::error_category& error_category() noexcept;

inline error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

}  // namespace mortise::txn

template <>
struct boost::system::is_error_code_enum<mortise::txn::errc> : std::true_type {};

#endif
