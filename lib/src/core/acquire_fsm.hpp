// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_ACQUIRE_FSM_HPP
#define MORTISE_CORE_ACQUIRE_FSM_HPP

#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>

namespace mortise::core {

/// The life of one acquire, from the wish to the grant or to the proof that nothing is left of it.
/// No clock, no I/O: its owner carries out the actions and reports their results.
///
/// The rules of cancellation live here:
/// * a request that is in flight is never abandoned: its answer is awaited, then undone;
/// * a stop after the grant was decided has no effect;
/// * a stop because time ran out (`busy`) still takes a grant that is on its way, until a stop for
///   another reason comes or the operation has completed;
/// * a request whose connection was lost may be asked again by its id, as often as needed: the
///   store answers a request that it knows as it did the first time;
/// * `finish` with a reason comes only after the store acknowledged that nothing is left, or after
///   the budget for that is used up; the undoing then goes on until `settled()`.
///
/// | state | granted | queued | refused | failed | stop | missing | withdrawn | session lost |
/// | --- | --- | --- | --- | --- | --- | --- | --- | --- |
/// | idle | | | | | finish | | | |
/// | requesting | finish / unproved | queued | finish(busy) | withdraw | (noted) | | | idle |
/// | requesting, stopped | withdraw (1) | withdraw | finish | withdraw | | | | finish |
/// | queued | finish / unproved | | | | withdraw | request | | idle |
/// | unproved (2) | | | | | withdraw | request | | idle |
/// | undoing | (withdrawn anyway) | | | | | | finish | finish |
/// | unheard (3) | finish / unproved | | | | withdraw | | | idle |
///
/// (1) With `busy`: finish / unproved; such an unproved grant ends with finish at `missing`, and
/// with withdraw at its proof if the budget was used up before, or if it is revoked.
/// (2) Queued again if the grant is revoked.
/// (3) Entered by `connection_lost` while requesting; `retry` leads back to requesting. A stop
/// because time ran out reports the reason of that loss, not `busy`: nobody knows who has the lock.
/// Tested as a table by acquire_fsm_test.cpp.
class acquire_fsm {
public:
    enum class action : std::uint8_t {
        none,
        send_request,   ///< Call `store::request`; report `answered` or `request_failed`.
        send_withdraw,  ///< Call `store::withdraw`; report `withdrawn`.
        ask_again,      ///< Call `store::request` with the same id.
        try_later,      ///< Wait a little, then call `retry`.
        finish,         ///< Complete the operation with `outcome()` and `token()`.
    };

    /// A session is open and the request may be sent.
    action session_ready() noexcept;

    /// The store answered the request. `proved`: the session is surely held at this moment.
    action answered(const answer& reply, bool proved) noexcept;

    /// The store did nothing, and will not. An answer `refused` is the same with `busy`.
    action refused(error_code why) noexcept;

    /// The request got no answer, or an error; it may have arrived.
    action request_failed(error_code why) noexcept;

    /// As `request_failed`, but the request is asked again until somebody stops it.
    action connection_lost(error_code why) noexcept;

    /// The grant came by a push, or was found by a look.
    action granted(const fencing_token& token, bool proved) noexcept;

    /// A heartbeat proved the session that has the grant.
    action proved() noexcept;

    /// A look found nothing of this request at the store: ask once more.
    action missing() noexcept;

    /// A look found the request at the store, but not the grant that waits for its proof.
    action revoked() noexcept;

    /// The caller cancelled, `wait_max` ran out, or the client stops.
    action stop(error_code reason) noexcept;

    /// The store answered the withdrawal.
    action withdrawn(error_code result) noexcept;

    /// The time has come to try again.
    action retry() noexcept;

    /// The budget for undoing is used up.
    action budget_over() noexcept;

    /// The session is gone, and with it everything that it had asked for.
    action session_lost() noexcept;

    /// Whether the store must have an entry of this request.
    bool at_store() const noexcept { return state_ == state::queued || state_ == state::unproved; }

    /// Whether the request waits to be asked again.
    bool unheard() const noexcept { return state_ == state::unheard; }

    /// Whether a grant is waiting for its proof.
    bool unproved() const noexcept { return state_ == state::unproved; }

    /// Whether the store has granted the request, proved or not, and nobody has refused that.
    bool has_grant() const noexcept { return unproved() || token_; }

    /// The token of the grant that waits for its proof.
    const fencing_token& pending() const noexcept { return pending_; }

    /// Whether a reason to end without the lock is noted; an answer may still be on its way.
    bool stopped() const noexcept { return static_cast<bool>(reason_); }

    /// Whether the operation has completed.
    bool finished() const noexcept { return finished_; }

    /// Whether the operation has completed and nothing of it is left to undo.
    bool settled() const noexcept { return finished_ && state_ == state::done; }

    /// The result to complete with at `finish`: no error if the lock was granted.
    error_code outcome() const noexcept { return token_ ? error_code() : reason_; }
    const fencing_token& token() const noexcept { return token_; }

private:
    enum class state : std::uint8_t { idle, requesting, unheard, queued, unproved, undoing, done };

    action ask() noexcept;
    action accept(const fencing_token& token, bool proved) noexcept;
    action undo() noexcept;
    action end() noexcept;

    state state_ = state::idle;
    bool finished_ = false;
    bool asked_ = false;  // a request was sent and has no answer yet
    bool waiting_retry_ = false;
    error_code reason_;
    error_code loss_;        // why the last request has no answer
    fencing_token pending_;  // a grant without its proof
    fencing_token token_;
};

}  // namespace mortise::core

#endif
