// SPDX-License-Identifier: BSL-1.0
#include "core/acquire_fsm.hpp"

#include "mortise/coro/assert.hpp"

namespace mortise::core {

using action = acquire_fsm::action;

action acquire_fsm::session_ready() noexcept {
    if (state_ != state::idle)
        return action::none;
    return ask();
}

action acquire_fsm::answered(const answer& reply, bool proved) noexcept {
    asked_ = false;
    if (state_ != state::requesting)
        return action::none;  // The session was lost meanwhile, or a push preceded the answer.
    switch (reply.type) {
    case answer::kind::granted:
        // A waiter that ran out of time (`busy`) still takes a grant that comes a moment later, as
        // long as it has not been told; any other reason to stop refuses the grant.
        if (stopped() && (finished_ || reason_ != errc::busy))
            return undo();
        return accept(reply.token, proved);
    case answer::kind::queued:
        if (stopped())
            return undo();
        state_ = state::queued;
        return action::none;
    case answer::kind::refused:
        return refused(errc::busy);
    }
    return action::none;
}

action acquire_fsm::refused(error_code why) noexcept {
    MORTISE_ASSERT(why);
    asked_ = false;
    if (state_ != state::requesting)
        return action::none;
    if (!reason_)
        reason_ = why;
    return end();
}

action acquire_fsm::request_failed(error_code why) noexcept {
    MORTISE_ASSERT(why);
    asked_ = false;
    if (state_ != state::requesting)
        return action::none;
    if (!reason_)
        reason_ = why;
    return undo();
}

action acquire_fsm::connection_lost(error_code why) noexcept {
    if (state_ != state::requesting || stopped())
        return request_failed(why);
    MORTISE_ASSERT(why);
    asked_ = false;
    loss_ = why;
    state_ = state::unheard;
    waiting_retry_ = true;
    return action::try_later;
}

action acquire_fsm::granted(const fencing_token& token, bool proved) noexcept {
    // A push after a stop changes nothing: the request's own answer, or the withdrawal, settles it.
    if (state_ == state::queued || state_ == state::unheard ||
        (state_ == state::requesting && !stopped()))
        return accept(token, proved);
    return action::none;
}

action acquire_fsm::proved() noexcept {
    if (state_ != state::unproved)
        return action::none;
    // A caller that was already told "not acquired" can no longer be given the lock.
    return finished_ ? undo() : accept(pending_, true);
}

action acquire_fsm::missing() noexcept {
    if (!at_store() || asked_)
        return action::none;  // The answer still to come is newer than this look.
    pending_ = {};
    return stopped() ? end() : ask();
}

action acquire_fsm::revoked() noexcept {
    if (state_ != state::unproved)
        return action::none;
    if (stopped())
        return undo();
    pending_ = {};
    state_ = state::queued;
    return action::none;
}

action acquire_fsm::stop(error_code reason) noexcept {
    MORTISE_ASSERT(reason);
    // A stop for `busy` still takes a grant, so a later stop for another reason must replace it.
    const bool heard = state_ == state::undoing || (stopped() && reason_ != errc::busy);
    if (finished_ || heard || reason_ == reason)
        return action::none;
    reason_ = state_ == state::unheard && reason == errc::busy ? loss_ : reason;
    switch (state_) {
    case state::idle:
        return end();
    case state::unheard:
    case state::queued:
    case state::unproved:
        return undo();
    case state::requesting:
    case state::undoing:
    case state::done:
        break;
    }
    return action::none;
}

action acquire_fsm::withdrawn(error_code result) noexcept {
    if (state_ != state::undoing)
        return action::none;
    if (!result)
        return end();
    waiting_retry_ = true;
    return action::try_later;
}

action acquire_fsm::retry() noexcept {
    if (!waiting_retry_ || (state_ != state::undoing && state_ != state::unheard))
        return action::none;
    waiting_retry_ = false;
    if (state_ == state::undoing)
        return action::send_withdraw;
    state_ = state::requesting;
    asked_ = true;
    return action::ask_again;
}

action acquire_fsm::budget_over() noexcept {
    if (!stopped() || finished_)
        return action::none;
    finished_ = true;
    return action::finish;
}

action acquire_fsm::session_lost() noexcept {
    pending_ = {};
    asked_ = waiting_retry_ = false;
    if (state_ == state::done)
        return action::none;
    if (stopped())
        return end();
    state_ = state::idle;
    return action::none;
}

action acquire_fsm::ask() noexcept {
    state_ = state::requesting;
    asked_ = true;
    return action::send_request;
}

action acquire_fsm::accept(const fencing_token& token, bool proved) noexcept {
    MORTISE_ASSERT(token);
    waiting_retry_ = false;
    if (!proved) {
        pending_ = token;
        state_ = state::unproved;
        return action::none;
    }
    token_ = token;
    return end();
}

action acquire_fsm::undo() noexcept {
    pending_ = {};
    waiting_retry_ = false;
    state_ = state::undoing;
    return action::send_withdraw;
}

action acquire_fsm::end() noexcept {
    state_ = state::done;
    if (finished_)
        return action::none;
    finished_ = true;
    return action::finish;
}

}  // namespace mortise::core
