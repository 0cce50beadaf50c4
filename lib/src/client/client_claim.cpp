// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"
#include "core/drift.hpp"
#include "core/planted_bug.hpp"
#include "mortise/coro/assert.hpp"

#include <algorithm>
#include <utility>

namespace mortise::detail {

grant client_core::grant_of(const claim& what) {
    grant at_store;
    at_store.id = what.id;
    at_store.name = what.of->name();
    at_store.token = what.token;
    return at_store;
}

// Starts a claim. A contended lock is requested again only after the store has answered its
// release, or the store would serve the new request before the waiters of other clients hear of the
// release.
void client_core::start(const claim_ptr& what, const std::shared_ptr<release_op>& releasing) {
    if (what->fsm.finished())
        return;  // It was cancelled before this task ran.
    if (stopping_)
        return stop(what, errc::client_stopped);
    what->order = ++last_order_;
    idle_claims_.emplace(what->order, what);
    const bool again = releasing && releasing->what->of == what->of && releasing->what->contended;
    if (open_later_ && what->queues)
        return;  // The next opening has its timer; a waiter that joins does not hasten it.
    if (!session_.open())
        need_session();
    else if (again && !releasing->answered)
        releasing->behind.push_back(what);
    else
        drive(what, what->fsm.session_ready());
}

void client_core::stop(const claim_ptr& what, error_code reason) {
    const action next = what->fsm.stop(reason);
    bound_undo(what);
    drive(what, next);
}

// Starts the budget for undoing a claim, once nobody wants the lock any longer.
void client_core::bound_undo(const claim_ptr& what) {
    if (!what->fsm.stopped() || what->fsm.finished() || what->undo_since != clock::time_point())
        return;
    what->undo_since = now();
    deadlines_.set(
        what->timer,
        coro::saturating_add(what->undo_since, config_.release_budget),
        [this, what] {
            counters_.add(&client_stats::undone_late);
            drive(what, what->fsm.budget_over());
        }
    );
}

void client_core::drive(const claim_ptr& what, action next) {
    switch (next) {
    case action::none:
        break;
    case action::send_request:
        send_request(what);
        break;
    case action::ask_again:
        what->asked_again = true;
        spawn(run_request(shared_from_this(), what));
        break;
    case action::send_withdraw:
        spawn(run_withdraw(shared_from_this(), what));
        break;
    case action::try_later:
        try_later(what);
        break;
    case action::finish:
        finish(what);
        break;
    }
    if (what->fsm.settled()) {
        if (!what->fsm.token())
            drop(what);
    } else if (what->fsm.unproved()) {
        unproved_.insert(what->id);
        beat_now();
    }
}

void client_core::send_request(const claim_ptr& what) {
    // A claim sends a second request only if a look found nothing of the first at the store. The
    // new one has another id, so that a late push for the old one is ignored.
    if (what->id == 0)
        idle_claims_.erase(what->order);
    else
        asking_.erase(what->id);
    what->id = ++last_id_;
    asking_.emplace(what->id, what);
    what->seen_at = {};
    what->sent = now();
    what->asked_again = false;
    spawn(run_request(shared_from_this(), what));
}

asio::awaitable<void>
client_core::run_request([[maybe_unused]] std::shared_ptr<client_core> self, claim_ptr what) {
    const auto epoch = epoch_;
    lock_request wish;
    wish.id = what->id;
    wish.name = what->of->name();
    wish.mode = what->mode;
    wish.hold_max = what->hold_max;
    wish.queue = what->queues;
    counters_.add(&client_stats::requests);
    ++calls_;
    ++calls_under_way_;
    auto reply = co_await store_->request(std::move(wish));
    --calls_under_way_;
    if (epoch != epoch_ || closed_)
        co_return;  // The session is gone; the state machine was told.
    if (reply) {
        outage_ = errc();
        // `hold_max` counts from the grant, which may date from an earlier try: only a look tells
        // its age.
        const bool age_unknown =
            reply->what == answer::kind::granted && what->asked_again && what->ends_by_itself();
        if (age_unknown)
            reply->what = answer::kind::queued;
        else if (reply->what == answer::kind::granted)
            note_grant(*what, reply->slot, reply->contended);
        drive(what, what->fsm.answered(*reply, surely_held()));
        if (age_unknown)
            look_now();
    } else if (reply.error() == errc::session_lost) {
        session_over(errc::lease_lost);
    } else if (reply.error() == errc::database_busy) {
        // The store did nothing, so there is nothing to undo, and the session is not put at risk.
        drive(what, what->fsm.refused(errc::store_unavailable));
    } else {
        lose_answer(what, reply.error());
    }
    arm();
}

// Handles a request without an answer. In an outage, a waiter for the lock also waits for the
// store: its request is asked again by its id.
void client_core::lose_answer(const claim_ptr& what, error_code why) {
    const bool outage = is_outage(why);
    if (outage)
        note_outage(why);
    if (outage && what->queues && !stopping_ && !what->fsm.stopped())
        drive(what, what->fsm.connection_lost(why));
    else
        fail_request(what, why);
}

// Notes what the store says of a grant in an answer, a push or a look.
void client_core::note_grant(claim& what, std::uint32_t slot, bool contended) {
    what.slot = slot;
    if (contended)
        contend(what);
}

// Undoes a request that may have arrived, like a cancelled one and within the same budget.
void client_core::fail_request(const claim_ptr& what, error_code why) {
    queue_work work;
    table_.doomed(*what, work);
    const action next = what->fsm.request_failed(why);
    bound_undo(what);
    drive(what, next);
    carry_out(std::move(work));
}

// Whether `why` is an outage of a server. Waiters wait it out; a try is told at once.
bool client_core::is_outage(const error_code& why) const noexcept {
    return traits_.remote && (why == errc::store_unavailable || why == errc::outcome_unknown ||
                              why == errc::server_loading || why == errc::server_busy ||
                              why == errc::read_only_server);
}

void client_core::note_outage(const error_code& why) noexcept {
    outage_ = static_cast<errc>(why.value());
}

// Repeats the unanswered requests, because the store can be reached again.
void client_core::ask_again() {
    outage_ = errc();
    const auto all = all_asking();  // in the order in which they were asked first
    for (const auto& what : all) {
        if (!what->fsm.unheard())
            continue;
        deadlines_.clear(what->retry_timer);
        what->retries = 0;
        drive(what, what->fsm.retry());
    }
}

asio::awaitable<void>
client_core::run_withdraw([[maybe_unused]] std::shared_ptr<client_core> self, claim_ptr what) {
    const auto epoch = epoch_;
    ++calls_;
    ++calls_under_way_;
    const error_code result = co_await store_->withdraw(what->of->name(), what->id);
    --calls_under_way_;
    if (epoch != epoch_ || closed_)
        co_return;
    what->store_busy = result == errc::database_busy;
    if (result == errc::session_lost)
        session_over(errc::lease_lost);
    else
        drive(what, what->fsm.withdrawn(result));
    arm();
}

// Retries after a pause. After an outage `ask_again` retries at once.
//
// If a request cannot be withdrawn within a TTL, the session is given up: alive, it would keep the
// request for ever. Not while the store is busy with somebody else: then nobody can get a lock, and
// the leases of the session need not be lost.
void client_core::try_later(const claim_ptr& what) {
    if (!what->store_busy && what->fsm.finished() && now() - what->undo_since > timing_.ttl)
        return abandon();
    deadlines_.set(what->retry_timer, now() + undo_pause(what->retries++), [this, what] {
        drive(what, what->fsm.retry());
    });
}

void client_core::finish(const claim_ptr& what) {
    if (what->fsm.token())
        return accept(what);
    queue_work work;
    table_.refused(*what, what->fsm.outcome(), work);
    carry_out(std::move(work));
}

void client_core::accept(const claim_ptr& what) {
    drop(what);
    what->token = what->fsm.token();
    if (what->ends_by_itself())
        end_at(what);
    granted_.emplace(what->id, what);
    counters_.add(&client_stats::grants);
    queue_work work;
    table_.granted(*what, work);
    carry_out(std::move(work));
}

// Sets the end of a grant by its `hold_max`. `since` is the earliest time at which the store can
// have granted it: when the request was sent, or the time that follows from its age at a look.
void client_core::end_at(const claim_ptr& what) {
    const clock::time_point since =
        what->seen_at == clock::time_point() ? what->sent : what->seen_at - what->age;
    const auto hold = MORTISE_PLANTED(hold_max_without_drift)
                          ? clock::duration(what->hold_max)
                          : core::trusted_part(what->hold_max, config_.clock_drift_ppm);
    what->ends_at = coro::saturating_add(since, hold);
    what->alarm_at = what->ends_at - std::min<clock::duration>(timing_.stop_margin, hold / 10);
    const auto over = [this, what](bool really) {
        const auto held = table_.holders(*what);
        for (const auto& each : held) {
            if (!really)
                tell(lock_event::kind::warned, *each, errc::lease_expired);
            each->end_waiting(errc::lease_expired);
        }
        if (!really)
            return;
        queue_work work;
        end_grant(*what, errc::lease_expired, work);
        carry_out(std::move(work));
    };
    deadlines_.set(what->alarm, what->alarm_at, [over] { over(false); });
    deadlines_.set(what->timer, what->ends_at, [over] { over(true); });
}

// Puts a claim back among those that wait for a session.
void client_core::to_idle(const claim_ptr& what) {
    deadlines_.clear(what->retry_timer);
    what->id = 0;
    what->retries = 0;
    what->seen_at = {};
    idle_claims_.emplace(what->order, what);
}

void client_core::drop(const claim_ptr& what) {
    deadlines_.clear(what->timer);
    deadlines_.clear(what->retry_timer);
    idle_claims_.erase(what->order);
    unproved_.erase(what->id);
    asking_.erase(what->id);
}

void client_core::draw(const claim_ptr& what) {
    if (granted_.contains(what->id))
        spawn(run_draw(shared_from_this(), what));
}

asio::awaitable<void>
client_core::run_draw([[maybe_unused]] std::shared_ptr<client_core> self, claim_ptr what) {
    const auto epoch = epoch_;
    counters_.add(&client_stats::draws);
    const auto drawn = co_await store_->draw(grant_of(*what));
    if (epoch != epoch_ || closed_)
        co_return;
    // Without more tokens the grant goes back to the store when the last is used up.
    if (drawn)
        table_.add_tokens(*what, *drawn);
    else
        table_.draw_failed(*what);
}

void client_core::linger(const claim_ptr& what) {
    queue_work work;
    const auto again = table_.linger_over(*what, now(), work);
    deadlines_.set(what->timer, again, [this, what] { linger(what); });
    carry_out(std::move(work));
}

std::vector<client_core::claim_ptr> client_core::all_asking() const {
    std::vector<claim_ptr> all;
    all.reserve(asking_.size() + idle_claims_.size());
    for (const auto& [id, what] : asking_)
        all.push_back(what);
    for (const auto& [order, what] : idle_claims_)
        all.push_back(what);
    return all;
}

}  // namespace mortise::detail
