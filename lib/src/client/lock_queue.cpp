// SPDX-License-Identifier: BSL-1.0
#include "client/lock_queue.hpp"

#include "mortise/coro/assert.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>

namespace mortise::detail {
namespace {

using mode_kind = lock_mode::kind;

bool ends_by_itself(const local_waiter& waiter) noexcept {
    return waiter.options.hold_max != std::chrono::milliseconds::max();
}

bool reads(const local_waiter& waiter) noexcept {
    return waiter.options.mode.what() == mode_kind::shared;
}

// Whether the kind of grant suits the waiter, apart from who holds it now.
bool fits(const claim& claim, const local_waiter& waiter) noexcept {
    if (claim.ends_by_itself() || ends_by_itself(waiter))
        return claim.only_for == &waiter;
    return claim.mode == waiter.options.mode ||
           (claim.mode.what() == mode_kind::exclusive && reads(waiter));
}

void complete(std::shared_ptr<local_waiter> waiter, error_code code, queue_work& work) {
    waiter->bound = nullptr;
    waiter->decided = true;
    waiter->code = code;
    work.done.push(std::move(waiter));
}

// Whether an owner that holds a lock in mode `has` thereby holds it in mode `wants`.
bool covers(const lock_mode& has, const lock_mode& wants) noexcept {
    return has.what() == mode_kind::exclusive || has == wants;
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
        tell_contended(work);
        ask_for_head(work);
        return;
    }
    if (certainly_busy(*waiter)) {
        waiter->held_here = held_here();
        complete(waiter, errc::busy, work);
        return;
    }
    const auto asked = ask(*waiter, false, work);
    waiter->bound = asked.get();
    asked->bound.push(waiter);
}

// Serves an owner that holds the lock already, past the queue. An owner that has lost it must let
// go of the lost lease first, because the outer work still goes on and no longer has the lock.
bool lock_queue::reenter(const std::shared_ptr<local_waiter>& waiter, queue_work& work) {
    bool lost = false;
    for (const auto& each : claims_) {
        for (held_grant* held = each->holds; held != nullptr; held = held->after) {
            if (held->owner != waiter->options.owner)
                continue;
            if (held->state() != lease_state::lost) {
                complete(waiter, hold_again(*held, *waiter, work), work);
                return true;
            }
            lost = true;  // By the clock alone: an outer lease may still hold the grant.
        }
    }
    lost = lost || owners_.has_lost(waiter->options.owner);
    if (lost)
        complete(waiter, errc::outer_lease_lost, work);
    return lost;
}

error_code lock_queue::hold_again(held_grant& held, local_waiter& waiter, queue_work& work) {
    if (const error_code wrong = held.check())
        return wrong;
    const auto& mode = waiter.options.mode;
    if (!covers(held.mode, mode)) {
        const bool permits =
            held.mode.what() == mode_kind::permits && mode.what() == mode_kind::permits;
        return permits ? errc::capacity_differs : errc::upgrade_refused;
    }
    auto root = held.root ? held.root : held.shared_from_this();
    if (root->count >= rules_.holds_max)
        return errc::too_many_holds;
    auto again = make_hold(held.of(), waiter, held.token());
    again->mode = held.mode;
    ++root->count;
    again->root = std::move(root);
    if (ends_by_itself(waiter)) {
        const clock::duration hold = waiter.options.hold_max;
        again->ends_at = coro::saturating_add(rules_.home->session->now(), hold);
        again->alarm_at = again->ends_at - std::min(rules_.stop_margin, hold / 10);
        work.add_hold(strand_task::kind::time, again);
    }
    waiter.granted = std::move(again);
    return {};
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

// Serves a newcomer at once if it is a reader that can join others, or can take up an idle grant.
bool lock_queue::serve_now(const std::shared_ptr<local_waiter>& waiter, queue_work& work) {
    for (const auto& each : claims_) {
        claim& claim = *each;
        const bool joins = claim.hosts_readers && reads(*waiter);
        if ((claim.holders != 0 && !joins) || claim.contended || !will_serve(claim, *waiter) ||
            !may_pass(claim, rules_.home->session->now()))
            continue;
        if (claim.holders == 0 && reads(*waiter)) {
            claim.hosts_readers = true;
            claim.shared_token =
                claim.mode.what() == mode_kind::shared ? claim.token : claim.tokens.take();
        }
        give(claim, waiter, work);
        return true;
    }
    return false;
}

// Gives lingering grants back to the store: they would delay a waiter that they cannot serve.
void lock_queue::give_back_idle(queue_work& work) {
    const auto idle = [](const auto& each) { return each->holders == 0; };
    for (auto found = std::find_if(claims_.begin(), claims_.end(), idle); found != claims_.end();
         found = std::find_if(claims_.begin(), claims_.end(), idle))
        leave(**found, work);
}

// Whether a try fails for certain, so that the store need not be asked.
bool lock_queue::certainly_busy(const local_waiter& waiter) const {
    if (!waiting_.empty() || pending_)
        return true;
    return std::any_of(claims_.begin(), claims_.end(), [&](const auto& each) {
        const bool together = each->mode == waiter.options.mode &&
                              each->mode.what() != mode_kind::exclusive && !each->contended;
        return !together;
    });
}

bool lock_queue::held_here() const {
    return std::any_of(claims_.begin(), claims_.end(), [](const auto& each) {
        return each->holders != 0;
    });
}

void lock_queue::cancel(local_waiter& waiter, error_code why, queue_work& work) {
    if (waiter.bound != nullptr) {
        // A waiter that is bound to a claim completes at the end of that claim.
        work.add(strand_task::kind::stop, waiter.bound->shared_from_this(), why);
        return;
    }
    owners_.leaves(waiter.options.owner);
    auto gone = waiting_.remove(waiter);
    gone->held_here = held_here();
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
    claim.at = claim::stage::granted;
    claims_.push_back(kept);
    if (claim.mode.what() == mode_kind::shared)
        claim.shared_token = claim.token;
    else
        claim.tokens = token_supply(claim.token);
    if (claim.contended)
        begin_turn(claim);
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
    begin_turn(claim);
    tell_contended(work);
    if (claim.holders == 0)
        leave(claim, work);
    ask_for_head(work);
    return true;
}

bool lock_queue::watch(held_grant& held) {
    if (held.stands != held_grant::place::holders || held.of().contended || waited_for())
        return false;
    held.watches = watched_ = true;
    return true;
}

void lock_queue::tell_contended(queue_work& work) {
    if (!std::exchange(watched_, false))
        return;
    for (const auto& each : claims_) {
        for (held_grant* held = each->holds; held != nullptr; held = held->after) {
            if (!held->watches)
                continue;
            if (!each->contended && !waited_for()) {
                watched_ = true;  // Another slot of the lock is contended.
                continue;
            }
            held->watches = false;
            if (auto watcher = held->weak_from_this().lock())
                work.contended.push_back(std::move(watcher));
        }
    }
}

lock_queue::release_outcome lock_queue::release(held_grant& held, queue_work& work) {
    owners_.let_go(held);
    if (held.stands != held_grant::place::holders)
        return release_outcome::was_gone;
    claim& claim = held.of();
    unlink(claim.holds, held);
    if (held.ends_at != clock::time_point::max())
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
    const clock::time_point now = rules_.home->session->now();
    if (may_pass(claim, now)) {
        if (!waiting_.empty() && will_serve(claim, waiting_.front())) {
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
    std::vector<std::shared_ptr<held_grant>> lost;
    if (claim.at != claim::stage::granted)
        return lost;
    const auto kept = claim.shared_from_this();
    remove_granted(claim);
    claim.at = claim::stage::over;
    claim.holders = 0;
    while (claim.holds != nullptr) {
        auto held = claim.holds->weak_from_this().lock();
        unlink(claim.holds, *claim.holds);
        if (!held)
            continue;
        owners_.lose(*held);
        lost.push_back(std::move(held));
    }
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
    for (const auto& each : std::exchange(claims_, {})) {
        each->at = claim::stage::over;
        while (each->holds != nullptr) {
            each->holds->lose_silently(errc::client_stopped);
            unlink(each->holds, *each->holds);
        }
    }
}

// Whether the grant can serve the waiter without the store, now or when its holders leave.
bool lock_queue::will_serve(const claim& claim, const local_waiter& waiter) const {
    if (!rules_.local_handoff || claim.ends_by_itself() || !fits(claim, waiter))
        return false;
    return !(claim.mode.what() == mode_kind::shared && claim.contended);
}

bool lock_queue::may_pass(const claim& claim, clock::time_point now) const {
    if (!rules_.local_handoff || claim.ends_by_itself() || now >= rules_.home->session->deadline())
        return false;
    if (claim.mode.what() != mode_kind::shared && claim.tokens.empty())
        return false;
    return !claim.contended || (claim.turn_left != 0 && now < claim.turn_end);
}

// Serves the head of the queue; if it reads, also the readers right behind it.
void lock_queue::serve(claim& claim, queue_work& work) {
    if (waiting_.empty() || !fits(claim, waiting_.front()))
        return;
    if (!reads(waiting_.front()))
        return give(claim, take_first(), work);
    claim.hosts_readers = true;
    if (claim.mode.what() != mode_kind::shared)
        claim.shared_token = claim.tokens.take();
    do {  // ends: each turn takes one out
        give(claim, take_first(), work);
    } while (rules_.local_handoff && !waiting_.empty() && reads(waiting_.front()) &&
             fits(claim, waiting_.front()));
}

void lock_queue::give(claim& claim, std::shared_ptr<local_waiter> waiter, queue_work& work) {
    const fencing_token token = claim.hosts_readers ? claim.shared_token : claim.tokens.take();
    auto held = make_hold(claim, *waiter, token);
    held->linger = waiter->options.linger;
    ++claim.holders;
    const owner_id owner = waiter->options.owner;
    waiter->granted = std::move(held);
    complete(std::move(waiter), {}, work);
    serve_owner(owner, work);
    if (claim.tokens.wants_more())
        work.add(strand_task::kind::draw, claim.shared_from_this());
}

std::shared_ptr<local_waiter> lock_queue::take_first() {
    owners_.leaves(waiting_.front().options.owner);
    return waiting_.pop();
}

std::shared_ptr<held_grant>
lock_queue::make_hold(claim& claim, const local_waiter& waiter, const fencing_token& token) {
    auto held = std::make_shared<held_grant>(claim.shared_from_this(), rules_.home, token);
    held->owner = waiter.options.owner;
    held->mode = waiter.options.mode;
    link(claim.holds, *held, held_grant::place::holders);
    return held;
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
    const bool will_do = std::any_of(claims_.begin(), claims_.end(), [&](const auto& each) {
        return each->mode.what() != mode_kind::permits && will_serve(*each, head);
    });
    if (!will_do)
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

void lock_queue::leave(claim& claim, queue_work& work) {
    MORTISE_ASSERT(claim.holders == 0 && claim.at == claim::stage::granted);
    claim.at = claim::stage::over;
    work.add(strand_task::kind::release, claim.shared_from_this());
    remove_granted(claim);
}

void lock_queue::remove_granted(claim& claim) {
    std::erase_if(claims_, [&](const auto& each) { return each.get() == &claim; });
}

void lock_queue::begin_turn(claim& claim) {
    claim.turn_left = rules_.turn_handoffs_max;
    claim.turn_end = coro::saturating_add(rules_.home->session->now(), rules_.turn_time_max);
}

}  // namespace mortise::detail
