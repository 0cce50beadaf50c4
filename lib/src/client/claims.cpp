// SPDX-License-Identifier: BSL-1.0
#include "client/claims.hpp"

#include "client/client_core.hpp"
#include "core/planted_bug.hpp"

#include <algorithm>
#include <utility>

namespace mortise::detail {

grant claims::grant_of(const claim& claim) {
    grant at_store;
    at_store.id = claim.id;
    at_store.name = claim.lock_name();
    at_store.token = claim.token;
    return at_store;
}

bool claims::enter(const claim_ptr& claim) {
    if (claim->fsm.finished())
        return false;  // It was cancelled before this task ran.
    if (context_.stopping()) {
        stop(claim, errc::client_stopped);
        return false;
    }
    claim->order = core_.sessions.next_order();
    idle_.emplace(claim->order, claim);
    if (own_.keeper.opens_later() && claim->queues)
        return false;  // The next opening has its timer; a waiter that joins does not hasten it.
    if (own_.keeper.open())
        return true;
    own_.keeper.need();
    return false;  // The opening sends the requests of all that wait, even if it has ended already.
}

void claims::start(
    const claim_ptr& claim,
    const std::shared_ptr<release_op>& releasing,
    const std::vector<claim_ptr>& behind
) {
    const bool may_ask = enter(claim);
    const bool again = releasing && releasing->released_claim->lock_name() == claim->lock_name() &&
                       releasing->released_claim->contended;
    const bool waits_for_release = may_ask && again && !releasing->answered;
    if (may_ask && !waits_for_release && !behind.empty())
        return start_in_order(claim, behind);
    for (const auto& each : behind)
        leave_out(each);
    if (waits_for_release)
        releasing->behind.push_back(claim);
    else if (may_ask)
        drive(claim, claim->fsm.session_ready());
}

void claims::start_in_order(const claim_ptr& first, const std::vector<claim_ptr>& behind) {
    std::vector<sent_request> requests;
    requests.push_back(begin(first));
    bool all_here = true;
    for (const auto& each : behind) {
        all_here = all_here && &core_.sessions.of(*each) == &own_;
        if (!all_here)
            leave_out(each);
        else if (enter(each))
            requests.push_back(begin(each));
    }
    context_.spawn(run_in_order(context_.keep(), std::move(requests)));
}

// Ends a claim that was not begun.
void claims::leave_out(const claim_ptr& claim) {
    core_.sessions.of(*claim).claims.stop(claim, not_asked());
}

void claims::stop(const claim_ptr& claim, error_code reason) {
    const action next = claim->fsm.stop(reason);
    bound_undo(claim);
    drive(claim, next);
}

void claims::refuse(const claim_ptr& claim, error_code why) {
    queue_work work;
    core_.locals.table().doomed(*claim, work);
    stop(claim, why);
    core_.locals.carry_out(std::move(work));
}

// Starts the budget for undoing a claim, once nobody wants the lock any longer.
void claims::bound_undo(const claim_ptr& claim) {
    if (!claim->fsm.stopped() || claim->fsm.finished() || claim->undo_since != clock::time_point())
        return;
    claim->undo_since = context_.now();
    context_.set_timer(
        claim->timer,
        coro::saturating_add(claim->undo_since, context_.config().release_budget),
        [this, claim] {
            context_.count.add(&client_stats::undone_late);
            drive(claim, claim->fsm.budget_over());
        }
    );
}

// Sends a request that waited for a release, unless the session was lost and opened again since:
// then it is sent already.
void claims::send_behind(const claim_ptr& claim) {
    if (own_.keeper.open() && idle_.contains(claim->order))
        drive(claim, claim->fsm.session_ready());
}

void claims::refuse_unproved(error_code why, bool only_tries) {
    const auto waiting = unproved_;
    for (const request_id id : waiting) {
        const auto found = asking_.find(id);
        if (found == asking_.end() || (only_tries && found->second->queues))
            continue;
        unproved_.erase(id);
        refuse(claim_ptr(found->second), why);
    }
}

// Whether another session has the claim by now, because it keeps the grant.
bool claims::has_gone_over(const claim& claim) const {
    return claim.session != &own_ && !context_.closed();
}

void claims::drive(const claim_ptr& claim, action next) {
    if (has_gone_over(*claim))
        return claim->session->claims.drive(claim, next);
    switch (next) {
    case action::none:
        break;
    case action::send_request:
        send_request(claim);
        break;
    case action::ask_again:
        claim->asked_again = true;
        context_.spawn(run_request(context_.keep(), claim));
        break;
    case action::send_withdraw:
        context_.spawn(run_withdraw(context_.keep(), claim));
        break;
    case action::try_later:
        try_later(claim);
        break;
    case action::finish:
        finish(claim);
        break;
    }
    if (claim->fsm.settled()) {
        if (!claim->fsm.token())
            drop(claim);
    } else if (claim->fsm.unproved()) {
        unproved_.insert(claim->id);
        own_.keeper.prove();
    }
}

void claims::send_request(const claim_ptr& claim) {
    note_sending(claim);
    context_.spawn(run_request(context_.keep(), claim));
}

// A claim sends a second request only if a look found nothing of the first at the store. The new
// one has another id, so that a late push for the old one is ignored.
void claims::note_sending(const claim_ptr& claim) {
    if (claim->id == 0)
        idle_.erase(claim->order);
    else
        asking_.erase(claim->id);
    claim->id = core_.sessions.next_id();
    asking_.emplace(claim->id, claim);
    claim->seen_at = {};
    claim->sent = context_.now();
    claim->asked_again = false;
}

claims::sent_request claims::begin(const claim_ptr& claim) {
    [[maybe_unused]] const action first = claim->fsm.session_ready();
    MORTISE_ASSERT(first == action::send_request);
    note_sending(claim);
    return request_of(claim);
}

claims::sent_request claims::request_of(const claim_ptr& claim) {
    sent_request request;
    request.by = claim;
    request.sent.id = claim->id;
    request.sent.name = claim->lock_name();
    request.sent.mode = claim->mode;
    request.sent.hold_max = claim->hold_max;
    request.sent.queue = claim->queues;
    request.epoch = own_.keeper.begin_call();
    return request;
}

asio::awaitable<void>
claims::run_request([[maybe_unused]] std::shared_ptr<const void> kept, claim_ptr claim) {
    const auto request = request_of(claim);
    context_.count.add(&client_stats::requests);
    auto asking = context_.at_store().request(request.sent);
    auto reply = co_await std::move(asking);
    take_answer(request, std::move(reply));
}

asio::awaitable<void> claims::run_in_order(
    [[maybe_unused]] std::shared_ptr<const void> kept, std::vector<sent_request> requests
) {
    std::vector<lock_request> wanted;
    for (const auto& each : requests)
        wanted.push_back(each.sent);
    auto asking = context_.at_store().request_in_order(std::move(wanted));
    auto reply = co_await std::move(asking);
    if (reply && reply->empty())  // It says nothing even of the first one.
        reply = error_code(errc::outcome_unknown);
    const std::size_t count = reply ? std::min(reply->size(), requests.size()) : requests.size();
    context_.count.add(&client_stats::requests, static_cast<std::int64_t>(count));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (i >= count) {
            take_no_answer(requests[i]);
        } else {
            if (i > 0 && reply && (*reply)[i] && (*reply)[i]->type == answer::kind::queued)
                context_.tell({.type = lock_event::kind::waiting, .name = requests[i].sent.name});
            take_answer(requests[i], reply ? (*reply)[i] : result<answer>(reply.error()));
        }
    }
}

// Ends a claim whose request was not made.
void claims::take_no_answer(const sent_request& request) {
    const auto& claim = request.by;
    const bool counts = own_.keeper.end_call(request.epoch);
    if (counts && claim->id == request.sent.id)
        drive(claim, claim->fsm.refused(not_asked()));
}

void claims::take_answer(const sent_request& request, result<answer> reply) {
    const auto& claim = request.by;
    const request_id id = request.sent.id;
    const bool counts = own_.keeper.end_call(request.epoch);
    if (claim->id != id)
        return;  // A push led it to a session that is lost: it has asked anew, or will.
    if (!counts) {
        // The session is gone; the state machine was told, unless a push has led it to another.
        if (has_gone_over(*claim))
            drive(claim, claim->fsm.request_failed(errc::outcome_unknown));
        return;
    }
    if (reply) {
        own_.keeper.outage_over();
        // `hold_max` counts from the grant, which may date from an earlier try: only a look tells
        // its age.
        const bool age_unknown = claim->asked_again && claim->ends_by_itself();
        const bool only_a_look_tells =
            reply->type == answer::kind::granted && (age_unknown || own_.looks.is_gone(id));
        if (only_a_look_tells)
            reply->type = answer::kind::queued;
        else if (reply->type == answer::kind::granted)
            note_grant(*claim, reply->slot, reply->contended);
        answered(claim, *reply);
        if (only_a_look_tells)
            own_.looks.start();
    } else if (reply.error() == errc::session_lost) {
        own_.keeper.lose(errc::lease_lost);
    } else if (reply.error() == errc::database_busy) {
        // The store did nothing, so there is nothing to undo, and the session is not put at risk.
        drive(claim, claim->fsm.refused(errc::store_unavailable));
    } else {
        lose_answer(claim, reply.error());
    }
    core_.arm();
}

// Handles a request without an answer. In an outage, a waiter for the lock also waits for the
// store: its request is asked again by its id.
void claims::lose_answer(const claim_ptr& claim, error_code why) {
    const bool outage = own_.keeper.is_outage(why);
    if (outage)
        own_.keeper.note_outage(why);
    if (claim->behind)  // Asked again by itself, it could be granted before those in front of it.
        return fail_request(claim, not_asked());
    if (outage && claim->queues && !context_.stopping() && !claim->fsm.stopped())
        drive(claim, claim->fsm.connection_lost(why));
    else
        fail_request(claim, why);
}

// Undoes a request that may have arrived, like a cancelled one and within the same budget.
void claims::fail_request(const claim_ptr& claim, error_code why) {
    queue_work work;
    core_.locals.table().doomed(*claim, work);
    const action next = claim->fsm.request_failed(why);
    bound_undo(claim);
    drive(claim, next);
    core_.locals.carry_out(std::move(work));
}

void claims::ask_again() {
    own_.keeper.outage_over();
    next_turn_ = {};
    const auto all = all_asking();  // in the order in which they were asked first
    for (const auto& claim : all) {
        if (!claim->fsm.unheard())
            continue;
        context_.clear_timer(claim->retry_timer);
        claim->retries = 0;
        drive(claim, claim->fsm.retry());
    }
}

asio::awaitable<void>
claims::run_withdraw([[maybe_unused]] std::shared_ptr<const void> kept, claim_ptr claim) {
    const auto epoch = own_.keeper.begin_call();
    const error_code result = co_await context_.at_store().withdraw(claim->lock_name(), claim->id);
    if (!own_.keeper.end_call(epoch)) {
        if (has_gone_over(*claim))
            drive(claim, claim->fsm.withdrawn(errc::outcome_unknown));
        co_return;
    }
    claim->store_busy = result == errc::database_busy;
    if (result == errc::session_lost)
        own_.keeper.lose(errc::lease_lost);
    else
        drive(claim, claim->fsm.withdrawn(result));
    core_.arm();
}

// Retries after a pause. After an outage `ask_again` retries at once.
//
// If a request cannot be withdrawn within a TTL, the session is given up: alive, it would keep the
// request for ever. Not while the store is busy with somebody else: then nobody can get a lock, and
// the leases of the session need not be lost.
void claims::try_later(const claim_ptr& claim) {
    const auto at = context_.now();
    if (!claim->store_busy && claim->fsm.finished() &&
        at - claim->undo_since > context_.timing().ttl)
        return own_.keeper.abandon();
    context_.set_timer(claim->retry_timer, at + undo_pause(claim->retries++), [this, claim] {
        retry_in_turn(claim);
    });
}

// Retries when the rate allows it: thousands that wait for a store that is away would otherwise
// take all of a processor.
void claims::retry_in_turn(const claim_ptr& claim) {
    constexpr std::chrono::milliseconds interval{1};
    constexpr auto burst = 100 * interval;
    const auto at = context_.now();
    const auto turn = std::max(next_turn_, at - burst);
    next_turn_ = turn + interval;
    if (turn <= at)
        return drive(claim, claim->fsm.retry());
    context_.set_timer(claim->retry_timer, turn, [this, claim] {
        drive(claim, claim->fsm.retry());
    });
}

void claims::finish(const claim_ptr& claim) {
    if (claim->fsm.token())
        return accept(claim);
    queue_work work;
    core_.locals.table().refused(*claim, claim->fsm.outcome(), work);
    core_.locals.carry_out(std::move(work));
}

void claims::accept(const claim_ptr& claim) {
    drop(claim);
    claim->token = claim->fsm.token();
    claim->watch = MORTISE_PLANTED(lease_by_other_proof) ? core_.sessions.at(0).watch : own_.watch;
    if (claim->ends_by_itself())
        own_.ends.begin(claim);
    granted_.emplace(claim->id, claim);
    own_.looks.note_grant(claim->id);
    context_.count.add(&client_stats::grants);
    queue_work work;
    core_.locals.table().granted(*claim, work);
    core_.locals.carry_out(std::move(work));
}

// Puts a claim back among those that wait for the session that asks for its lock.
void claims::to_idle(const claim_ptr& claim) {
    context_.clear_timer(claim->retry_timer);
    claim->id = 0;
    claim->retries = 0;
    claim->seen_at = {};
    claim->session = nullptr;
    client_session& next = core_.sessions.of(*claim);
    next.claims.idle_.emplace(claim->order, claim);
    if (&next == &own_)
        return;
    if (next.keeper.open())
        next.claims.send_behind(claim);
    else if (!next.keeper.opens_later())
        next.keeper.need();
}

void claims::go_over(const claim_ptr& claim, client_session& next) {
    if (&next == &own_)
        return;
    asking_.erase(claim->id);
    unproved_.erase(claim->id);
    claim->session = &next;
    next.claims.asking_.emplace(claim->id, claim);
}

void claims::drop(const claim_ptr& claim) {
    context_.clear_timer(claim->timer);
    context_.clear_timer(claim->retry_timer);
    idle_.erase(claim->order);
    unproved_.erase(claim->id);
    asking_.erase(claim->id);
}

void claims::draw(const claim_ptr& claim) {
    if (granted_.contains(claim->id))
        context_.spawn(run_draw(context_.keep(), claim));
}

asio::awaitable<void>
claims::run_draw([[maybe_unused]] std::shared_ptr<const void> kept, claim_ptr claim) {
    const auto epoch = own_.keeper.epoch();
    context_.count.add(&client_stats::draws);
    const auto drawn = co_await context_.at_store().draw(grant_of(*claim));
    if (!own_.keeper.is_current(epoch))
        co_return;
    // Without more tokens the grant goes back to the store when the last is used up.
    if (drawn)
        core_.locals.table().add_tokens(*claim, *drawn);
    else
        core_.locals.table().draw_failed(*claim);
}

void claims::linger(const claim_ptr& claim) {
    queue_work work;
    const auto again = core_.locals.table().linger_over(*claim, context_.now(), work);
    context_.set_timer(claim->timer, again, [this, claim] { linger(claim); });
    core_.locals.carry_out(std::move(work));
}

std::vector<claims::claim_ptr> claims::all_asking() const {
    std::vector<claim_ptr> all;
    all.reserve(asking_.size() + idle_.size());
    for (const auto& [id, claim] : asking_)
        all.push_back(claim);
    for (const auto& [order, claim] : idle_)
        all.push_back(claim);
    return all;
}

claims::everything claims::take_all() {
    return {std::exchange(asking_, {}), std::exchange(idle_, {}), std::exchange(granted_, {})};
}

}  // namespace mortise::detail
