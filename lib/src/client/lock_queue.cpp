// SPDX-License-Identifier: BSL-1.0
#include "client/lock_queue.hpp"

#include "mortise/coro/assert.hpp"

#include <boost/asio/error.hpp>

#include <utility>

namespace mortise::detail {
namespace {

void complete(std::shared_ptr<local_waiter> waiter, error_code code, queue_work& work) {
    waiter->bound = nullptr;
    waiter->decided = true;
    waiter->code = code;
    work.done.push(std::move(waiter));
}

}  // namespace

void lock_queue::acquire(const std::shared_ptr<local_waiter>& waiter, queue_work& work) {
    if (waiter->options.owner && reenter(waiter, work))
        return;
    if (waiting_.empty() && serve_now(waiter, work))
        return;
    give_back_idle(work);
    if (waiter->queues) {
        owners_.stands(waiter->options.owner);
        waiting_.push(waiter);
        grants_.tell_contended(waited_for(), work);
        ask_for_head(work);
        return;
    }
    // A try that fails for certain need not ask the store.
    if (waited_for() || pending_ || grants_.exclude(*waiter)) {
        waiter->held_here = grants_.held();
        complete(waiter, errc::busy, work);
        return;
    }
    ask_alone(waiter, work);
}

void lock_queue::acquire_behind(const std::shared_ptr<local_waiter>& waiter, queue_work& work) {
    MORTISE_ASSERT(!in_use());
    ask_alone(waiter, work).behind = true;
}

// Serves an owner that holds the lock already, past the queue. An owner that has lost it must let
// go of the lost lease first, because the outer work still goes on and no longer has the lock.
bool lock_queue::reenter(const std::shared_ptr<local_waiter>& waiter, queue_work& work) {
    const auto hold = grants_.hold_of(waiter->options.owner);
    if (hold.live != nullptr) {
        complete(waiter, grants_.hold_again(*hold.live, *waiter, work), work);
        return true;
    }
    const bool lost = hold.lost || owners_.has_lost(waiter->options.owner);
    if (lost)
        complete(waiter, errc::outer_lease_lost, work);
    return lost;
}

// Serves all waiting acquires of an owner once one of them is granted: it must not wait for itself.
void lock_queue::serve_owner(const owner_id& owner, queue_work& work) {
    if (!owner || !owners_.waits(owner))
        return;
    waiter_list others;
    while (!waiting_.empty()) {
        auto waiter = waiting_.pop();
        if (waiter->options.owner != owner || !reenter(waiter, work))
            others.push(std::move(waiter));
        else
            owners_.leaves(owner);
    }
    waiting_ = std::move(others);
}

bool lock_queue::serve_now(const std::shared_ptr<local_waiter>& waiter, queue_work& work) {
    claim* const serving = grants_.serving_now(*waiter);
    if (serving == nullptr)
        return false;
    if (serving->holders == 0 && reads(*waiter))
        granted_claims::open_to_readers(*serving);
    give(*serving, waiter, work);
    return true;
}

// Gives lingering grants back to the store: they would delay a waiter that they cannot serve.
void lock_queue::give_back_idle(queue_work& work) {
    while (claim* const idle = grants_.idle())
        leave(*idle, work);
}

void lock_queue::cancel(local_waiter& waiter, error_code why, queue_work& work) {
    if (waiter.bound != nullptr) {
        // A waiter that is bound to a claim completes at the end of that claim.
        work.add(strand_task::kind::stop, waiter.bound->shared_from_this(), why);
        return;
    }
    owners_.leaves(waiter.options.owner);
    auto gone = waiting_.remove(waiter);
    gone->held_here = grants_.held();
    if (pending_ && !pending_fits()) {
        // The waiter may complete only when nothing is left at the store.
        const auto undone = std::exchange(pending_, nullptr);
        gone->bound = undone.get();
        undone->bound.push(std::move(gone));
        work.add(strand_task::kind::stop, undone, why);
    } else {
        complete(std::move(gone), why, work);
    }
    ask_for_head(work);
}

void lock_queue::granted(claim& claim, queue_work& work) {
    MORTISE_ASSERT(claim.at == claim::stage::asking && claim.token);
    const auto kept = claim.shared_from_this();
    if (pending_ == kept)
        pending_.reset();
    --asking_;
    grants_.add(kept);
    if (claim.bound.empty()) {
        serve(claim, work);
    } else {
        claim.hosts_readers = reads(claim.bound.front());
        give(claim, claim.bound.pop(), work);
        refused_all(claim.bound, errc::busy, work);
    }
    if (claim.holders == 0)
        leave(claim, work);
    ask_for_head(work);
}

void lock_queue::doomed(claim& claim, queue_work& work) {
    if (pending_.get() != &claim)
        return;
    const auto kept = std::exchange(pending_, nullptr);
    waiter_list others;
    while (!waiting_.empty()) {
        auto waiter = waiting_.pop();
        const bool same = kept->only_for == waiter.get() ||
                          (kept->mode == waiter->options.mode && fits(*kept, *waiter));
        if (same) {
            owners_.leaves(waiter->options.owner);
            waiter->bound = kept.get();
        }
        (same ? kept->bound : others).push(std::move(waiter));
    }
    waiting_ = std::move(others);
    ask_for_head(work);
}

void lock_queue::refused(claim& claim, error_code why, queue_work& work) {
    MORTISE_ASSERT(claim.at == claim::stage::asking);
    doomed(claim, work);
    --asking_;
    claim.at = claim::stage::over;
    refused_all(claim.bound, why, work);
}

void lock_queue::refused_all(waiter_list& waiters, error_code why, queue_work& work) {
    while (!waiters.empty())
        complete(waiters.pop(), why, work);
}

bool lock_queue::contended(claim& claim, queue_work& work) {
    if (std::exchange(claim.contended, true))
        return false;
    if (claim.at != claim::stage::granted)
        return true;  // Its turn begins with the grant.
    grants_.begin_turn(claim);
    grants_.tell_contended(waited_for(), work);
    if (claim.holders == 0)
        leave(claim, work);
    ask_for_head(work);
    return true;
}

lock_queue::release_outcome lock_queue::release(held_grant& held, queue_work& work) {
    owners_.let_go(held);
    if (held.stands != held_grant::place::holders)
        return release_outcome::was_gone;
    claim& claim = held.of();
    unlink(claim.holds, held);
    if (held.own_end.at() != clock::time_point::max())
        work.add_hold(strand_task::kind::untime, held.shared_from_this());
    held_grant& first = held.root ? *held.root : held;
    if (--first.count != 0 || --claim.holders != 0)
        return release_outcome::done;
    claim.hosts_readers = false;
    claim.linger = first.linger;
    return next(claim, work);
}

lock_queue::release_outcome lock_queue::end_hold(held_grant& held, queue_work& work) {
    const auto outcome = release(held, work);
    if (outcome != release_outcome::was_gone)
        owners_.lose(held);
    return outcome;
}

void lock_queue::forget(held_grant& held) noexcept {
    owners_.let_go(held);
    if (held.stands == held_grant::place::holders)
        unlink(held.of().holds, held);
}

// Decides about a grant without holders: it is passed on, lingers, or goes back to the store.
lock_queue::release_outcome lock_queue::next(claim& claim, queue_work& work) {
    const clock::time_point now = rules_.home->now();
    if (grants_.may_pass(claim, now)) {
        if (waited_for() && grants_.will_serve(claim, waiting_.front())) {
            if (claim.contended)
                --claim.turn_left;
            serve(claim, work);
            ask_for_head(work);
            return release_outcome::done;
        }
        if (waiting_.empty() && !claim.contended && claim.linger != claim.linger.zero()) {
            claim.idle_since = now;
            if (!std::exchange(claim.linger_armed, true))
                work.add(strand_task::kind::linger, claim.shared_from_this());
            return release_outcome::done;
        }
    }
    leave(claim, work);
    ask_for_head(work);
    return release_outcome::to_store;
}

clock::time_point lock_queue::linger_over(claim& claim, clock::time_point now, queue_work& work) {
    if (claim.at == claim::stage::granted && claim.holders == 0) {
        const auto until = coro::saturating_add(claim.idle_since, claim.linger);
        if (now < until)
            return until;
        leave(claim, work);
    }
    claim.linger_armed = false;
    return clock::time_point::max();
}

std::vector<std::shared_ptr<held_grant>> lock_queue::lost(claim& claim, queue_work& work) {
    if (claim.at != claim::stage::granted)
        return {};
    auto lost = grants_.lose(claim);
    for (const auto& each : lost)
        owners_.lose(*each);
    ask_for_head(work);
    return lost;
}

void lock_queue::close(error_code why, queue_work& work) {
    refused_all(waiting_, why, work);
    owners_.clear();
    if (const auto asked = std::exchange(pending_, nullptr))
        work.add(strand_task::kind::stop, asked, why);
}

void lock_queue::abandon(queue_work& work) {
    refused_all(waiting_, errc::client_stopped, work);
    owners_.clear();
    if (pending_)
        refused_all(pending_->bound, errc::client_stopped, work);
    pending_.reset();
    grants_.abandon();
}

// Serves the head of the queue; if it reads, also the readers right behind it.
void lock_queue::serve(claim& claim, queue_work& work) {
    if (waiting_.empty() || !fits(claim, waiting_.front()))
        return;
    if (!reads(waiting_.front()))
        return give(claim, take_first(), work);
    granted_claims::open_to_readers(claim);
    do {  // ends: each turn takes one out
        give(claim, take_first(), work);
    } while (rules_.local_handoff && !waiting_.empty() && reads(waiting_.front()) &&
             fits(claim, waiting_.front()));
}

void lock_queue::give(claim& claim, std::shared_ptr<local_waiter> waiter, queue_work& work) {
    const owner_id owner = waiter->options.owner;
    waiter->granted = grants_.give(claim, *waiter);
    complete(std::move(waiter), {}, work);
    serve_owner(owner, work);
    if (claim.tokens.wants_more())
        work.add(strand_task::kind::draw, claim.shared_from_this());
}

std::shared_ptr<local_waiter> lock_queue::take_first() {
    owners_.leaves(waiting_.front().options.owner);
    return waiting_.pop();
}

bool lock_queue::pending_fits() const {
    if (waiting_.empty())
        return false;
    const local_waiter& head = waiting_.front();
    return pending_->only_for != nullptr
               ? pending_->only_for == &head
               : !ends_by_itself(head) && pending_->mode == head.options.mode;
}

// Keeps one request at the store for the head of the queue, unless a grant of this client will
// serve the head.
void lock_queue::ask_for_head(queue_work& work) {
    if (pending_ && !pending_fits()) {
        work.add(
            strand_task::kind::stop,
            std::exchange(pending_, nullptr),
            asio::error::operation_aborted
        );
    }
    if (pending_ || waiting_.empty())
        return;
    const local_waiter& head = waiting_.front();
    if (!grants_.will_serve(head))
        pending_ = ask(head, true, work);
}

std::shared_ptr<claim> lock_queue::ask(const local_waiter& waiter, bool queues, queue_work& work) {
    auto asked = std::make_shared<claim>(
        name_, weak_from_this(), waiter.options.mode, waiter.options.hold_max, queues
    );
    if (ends_by_itself(waiter))
        asked->only_for = &waiter;
    ++asking_;
    work.add(strand_task::kind::ask, asked);
    return asked;
}

// Asks for this waiter only: it gets the outcome, whatever comes.
claim& lock_queue::ask_alone(const std::shared_ptr<local_waiter>& waiter, queue_work& work) {
    const auto asked = ask(*waiter, waiter->queues, work);
    waiter->bound = asked.get();
    asked->bound.push(waiter);
    return *asked;
}

void lock_queue::leave(claim& claim, queue_work& work) {
    MORTISE_ASSERT(claim.holders == 0 && claim.at == claim::stage::granted);
    work.add(strand_task::kind::release, claim.shared_from_this());
    grants_.remove(claim);
}

}  // namespace mortise::detail
