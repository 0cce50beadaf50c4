// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_CALL_HPP
#define MORTISE_TXN_CALL_HPP

#include "mortise/lock_token.hpp"
#include "mortise/txn/gid.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::txn {

using mortise::lock_token;

/// What a participant is asked to do.
enum class operation : std::uint8_t {
    try_,     ///< Check, and reserve what the branch needs.
    confirm,  ///< Use what was reserved. May not be refused.
    cancel,   ///< Give back what was reserved, if anything was. May not be refused.
};

/// `try`, `confirm`, `cancel`.
std::string_view to_string(operation what) noexcept;

/// One call of a participant, with all that it needs to tell what it may do. The same call may come
/// several times, late, or out of its order: see `barrier`.
class call {
public:
    call() = default;  // declared: no aggregate (docs/compilers.md, G3)

    operation what = operation::try_;
    txn::gid gid;
    std::uint32_t branch = 0;   ///< From 1, in the order in which they were added.
    std::uint32_t attempt = 0;  ///< From 1; grows with each repetition of the same call.
    std::uint64_t epoch = 0;    ///< Of the coordinator: a lower one than before is a zombie's.
    /// Random, of the term in which the transaction began. A number that is used a second time, by
    /// a log that was restored from an old copy, has another one.
    std::uint64_t term = 0;
    std::string participant;  ///< Its name at the coordinator.
    std::string payload;
    std::vector<lock_token> locks;

    /// Of a try: how long the transaction may still take. When that has passed the reservation is
    /// overdue, and it is for the coordinator to say what became of it.
    std::chrono::milliseconds time_left{0};

    /// Every transaction of the same log with a lower number has ended: what is remembered of those
    /// can be forgotten.
    std::uint64_t ended_below = 0;

    /// Of a cancel: the coordinator before ended without a decision that the log knows, and nothing
    /// is written before every branch is cancelled. A participant that has confirmed it, or knows
    /// that it has ended, has seen more than the log.
    bool presumed = false;

    /// W3C trace context, handed on as it was given; may be empty.
    std::string traceparent;
};

}  // namespace mortise::txn

#endif
