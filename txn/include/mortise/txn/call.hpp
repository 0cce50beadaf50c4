// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_CALL_HPP
#define MORTISE_TXN_CALL_HPP

#include "mortise/lock_token.hpp"
#include "mortise/txn/gid.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::txn {

using mortise::lock_token;

class branch_work;

/// The three operations of a participant.
enum class operation : std::uint8_t {
    try_,     ///< Check, and reserve what the branch needs.
    confirm,  ///< Use what was reserved. May not be refused.
    cancel,   ///< Give back what was reserved, if anything was. May not be refused.
};

/// `try`, `confirm`, `cancel`.
std::string_view to_string(operation operation) noexcept;

/// One call of a participant, with all that a barrier needs to check it. The same call may come
/// several times, late, or out of order: see `barrier`.
class call {
public:
    call() = default;  // declared: no aggregate (docs/compilers.md, G3)

    operation type = operation::try_;
    txn::gid gid;
    std::uint32_t branch = 0;   ///< From 1, in the order in which they were added.
    std::uint32_t attempt = 0;  ///< From 1; grows with each repetition of the same call.
    std::uint64_t epoch = 0;    ///< Of the coordinator. One below the highest seen was replaced.
    /// A random number, of the term in which the transaction began. It differs if a log that was
    /// restored from an old copy uses a transaction number a second time.
    std::uint64_t term = 0;
    std::string participant;  ///< Its name at the coordinator.
    std::string payload;
    /// Of a try whose transaction brings its work along; null: there is a payload only.
    std::shared_ptr<branch_work> work;
    std::vector<lock_token> locks;

    /// Of a try: how long the transaction may still take. After that the reservation is overdue,
    /// and the coordinator must say what became of it.
    std::chrono::milliseconds time_left{0};

    /// Every transaction of the same log with a lower number has ended: the participant may forget
    /// them.
    std::uint64_t ended_below = 0;

    /// Of a cancel: the log has no decision, because the earlier coordinator ended before one. The
    /// cancellation is written only after every branch is cancelled. A participant that has
    /// confirmed the branch, or knows that it has ended, has seen more than the log.
    bool presumed = false;

    /// Of a try: the branch is the only one of its transaction, so that there is nothing to decide.
    /// A participant that `commits_alone` commits it at once; its cancel, if one comes, is told by
    /// `conflict` that it was committed.
    bool one_phase = false;

    /// W3C trace context, passed on unchanged; may be empty.
    std::string traceparent;
};

}  // namespace mortise::txn

#endif
