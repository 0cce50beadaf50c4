// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"
#include "core/drift.hpp"
#include "core/planted_bug.hpp"
#include "mortise/coro/assert.hpp"

#include <algorithm>
#include <utility>

namespace mortise::detail {

grant client_core::grant_of(const claim& claim) {
    grant at_store;
    at_store.id = claim.id;
    at_store.name = claim.of->name();
    at_store.token = claim.token;
    return at_store;
}

// Starts a claim. A contended lock is requested again only after the store has answered its
// release, or the store would serve the new request before the waiters of other clients hear of the
// release.
void client_core::start(const claim_ptr& claim, const std::shared_ptr<release_op>& releasing) {
    if (claim->fsm.finished())
        return;  // It was cancelled before this task ran.
    if (stopping_)
        return stop(claim, errc::client_stopped);
    claim->order = ++last_order_;
    idle_claims_.emplace(claim->order, claim);
    const bool again = releasing && releasing->released_claim->of == claim->of &&
                       releasing->released_claim->contended;
    if (open_later_ && claim->queues)
        return;  // The next opening has its timer; a waiter that joins does not hasten it.
    if (!session_.open())
        need_session();
    else if (again && !releasing->answered)
        releasing->behind.push_back(claim);
    else
        drive(claim, claim->fsm.session_ready());
}

void client_core::stop(const claim_ptr& claim, error_code reason) {
    const action next = claim->fsm.stop(reason);
    bound_undo(claim);
    drive(claim, next);
}

// Starts the budget for undoing a claim, once nobody wants the lock any longer.
void client_core::bound_undo(const claim_ptr& claim) {
    if (!claim->fsm.stopped() || claim->fsm.finished() || claim->undo_since != clock::time_point())
        return;
    claim->undo_since = now();
    deadlines_.set(
        claim->timer,
        coro::saturating_add(claim->undo_since, config_.release_budget),
        [this, claim] {
            counters_.add(&client_stats::undone_late);
            drive(claim, claim->fsm.budget_over());
        }
    );
}

void client_core::drive(const claim_ptr& claim, action next) {
    switch (next) {
    case action::none:
        break;
    case action::send_request:
        send_request(claim);
        break;
    case action::ask_again:
        claim->asked_again = true;
        spawn(run_request(shared_from_this(), claim));
        break;
    case action::send_withdraw:
        spawn(run_withdraw(shared_from_this(), claim));
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
        beat_now();
    }
}

void client_core::send_request(const claim_ptr& claim) {
    // A claim sends a second request only if a look found nothing of the first at the store. The
    // new one has another id, so that a late push for the old one is ignored.
    if (claim->id == 0)
        idle_claims_.erase(claim->order);
    else
        asking_.erase(claim->id);
    claim->id = ++last_id_;
    asking_.emplace(claim->id, claim);
    claim->seen_at = {};
    claim->sent = now();
    claim->asked_again = false;
    spawn(run_request(shared_from_this(), claim));
}

asio::awaitable<void>
client_core::run_request([[maybe_unused]] std::shared_ptr<client_core> self, claim_ptr claim) {
    const auto epoch = epoch_;
    lock_request wish;
    wish.id = claim->id;
    wish.name = claim->of->name();
    wish.mode = claim->mode;
    wish.hold_max = claim->hold_max;
    wish.queue = claim->queues;
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
            reply->what == answer::kind::granted && claim->asked_again && claim->ends_by_itself();
        if (age_unknown)
            reply->what = answer::kind::queued;
        else if (reply->what == answer::kind::granted)
            note_grant(*claim, reply->slot, reply->contended);
        drive(claim, claim->fsm.answered(*reply, surely_held()));
        if (age_unknown)
            look_now();
    } else if (reply.error() == errc::session_lost) {
        session_over(errc::lease_lost);
    } else if (reply.error() == errc::database_busy) {
        // The store did nothing, so there is nothing to undo, and the session is not put at risk.
        drive(claim, claim->fsm.refused(errc::store_unavailable));
    } else {
        lose_answer(claim, reply.error());
    }
    arm();
}

// Handles a request without an answer. In an outage, a waiter for the lock also waits for the
// store: its request is asked again by its id.
void client_core::lose_answer(const claim_ptr& claim, error_code why) {
    const bool outage = is_outage(why);
    if (outage)
        note_outage(why);
    if (outage && claim->queues && !stopping_ && !claim->fsm.stopped())
        drive(claim, claim->fsm.connection_lost(why));
    else
        fail_request(claim, why);
}

// Notes what the store says of a grant in an answer, a push or a look.
void client_core::note_grant(claim& claim, std::uint32_t slot, bool contended) {
    claim.slot = slot;
    if (contended)
        contend(claim);
}

// Undoes a request that may have arrived, like a cancelled one and within the same budget.
void client_core::fail_request(const claim_ptr& claim, error_code why) {
    queue_work work;
    table_.doomed(*claim, work);
    const action next = claim->fsm.request_failed(why);
    bound_undo(claim);
    drive(claim, next);
    carry_out(std::move(work));
}

// Whether `why` is an outage of a server. Waiters wait it out; a try is told at once.
bool client_core::is_outage(const error_code& why) const noexcept {
    return traits_.remote && (why == errc::store_unavailable || why == errc::outcome_unknown ||
                              why == errc::server_loading || why == errc::server_busy ||
                              why == errc::read_only_server || why == errc::not_enough_replicas);
}

void client_core::note_outage(const error_code& why) noexcept {
    outage_ = static_cast<errc>(why.value());
}

// Repeats the unanswered requests, because the store can be reached again.
void client_core::ask_again() {
    outage_ = errc();
    const auto all = all_asking();  // in the order in which they were asked first
    for (const auto& claim : all) {
        if (!claim->fsm.unheard())
            continue;
        deadlines_.clear(claim->retry_timer);
        claim->retries = 0;
        drive(claim, claim->fsm.retry());
    }
}

asio::awaitable<void>
client_core::run_withdraw([[maybe_unused]] std::shared_ptr<client_core> self, claim_ptr claim) {
    const auto epoch = epoch_;
    ++calls_;
    ++calls_under_way_;
    const error_code result = co_await store_->withdraw(claim->of->name(), claim->id);
    --calls_under_way_;
    if (epoch != epoch_ || closed_)
        co_return;
    claim->store_busy = result == errc::database_busy;
    if (result == errc::session_lost)
        session_over(errc::lease_lost);
    else
        drive(claim, claim->fsm.withdrawn(result));
    arm();
}

// Retries after a pause. After an outage `ask_again` retries at once.
//
// If a request cannot be withdrawn within a TTL, the session is given up: alive, it would keep the
// request for ever. Not while the store is busy with somebody else: then nobody can get a lock, and
// the leases of the session need not be lost.
void client_core::try_later(const claim_ptr& claim) {
    if (!claim->store_busy && claim->fsm.finished() && now() - claim->undo_since > timing_.ttl)
        return abandon();
    deadlines_.set(claim->retry_timer, now() + undo_pause(claim->retries++), [this, claim] {
        drive(claim, claim->fsm.retry());
    });
}

void client_core::finish(const claim_ptr& claim) {
    if (claim->fsm.token())
        return accept(claim);
    queue_work work;
    table_.refused(*claim, claim->fsm.outcome(), work);
    carry_out(std::move(work));
}

void client_core::accept(const claim_ptr& claim) {
    drop(claim);
    claim->token = claim->fsm.token();
    if (claim->ends_by_itself())
        end_at(claim);
    granted_.emplace(claim->id, claim);
    counters_.add(&client_stats::grants);
    queue_work work;
    table_.granted(*claim, work);
    carry_out(std::move(work));
}

// Sets the end of a grant by its `hold_max`. `since` is the earliest time at which the store can
// have granted it: when the request was sent, or the time that follows from its age at a look.
void client_core::end_at(const claim_ptr& claim) {
    const clock::time_point since =
        claim->seen_at == clock::time_point() ? claim->sent : claim->seen_at - claim->age;
    const auto hold = MORTISE_PLANTED(hold_max_without_drift)
                          ? clock::duration(claim->hold_max)
                          : core::trusted_part(claim->hold_max, config_.clock_drift_ppm);
    claim->ends_at = coro::saturating_add(since, hold);
    claim->alarm_at = claim->ends_at - std::min<clock::duration>(timing_.stop_margin, hold / 10);
    const auto over = [this, claim](bool really) {
        const auto held = table_.holders(*claim);
        for (const auto& each : held) {
            if (!really)
                tell(lock_event::kind::warned, *each, errc::lease_expired);
            each->end_waiting(errc::lease_expired);
        }
        if (!really)
            return;
        queue_work work;
        end_grant(*claim, errc::lease_expired, work);
        carry_out(std::move(work));
    };
    deadlines_.set(claim->alarm, claim->alarm_at, [over] { over(false); });
    deadlines_.set(claim->timer, claim->ends_at, [over] { over(true); });
}

// Puts a claim back among those that wait for a session.
void client_core::to_idle(const claim_ptr& claim) {
    deadlines_.clear(claim->retry_timer);
    claim->id = 0;
    claim->retries = 0;
    claim->seen_at = {};
    idle_claims_.emplace(claim->order, claim);
}

void client_core::drop(const claim_ptr& claim) {
    deadlines_.clear(claim->timer);
    deadlines_.clear(claim->retry_timer);
    idle_claims_.erase(claim->order);
    unproved_.erase(claim->id);
    asking_.erase(claim->id);
}

void client_core::draw(const claim_ptr& claim) {
    if (granted_.contains(claim->id))
        spawn(run_draw(shared_from_this(), claim));
}

asio::awaitable<void>
client_core::run_draw([[maybe_unused]] std::shared_ptr<client_core> self, claim_ptr claim) {
    const auto epoch = epoch_;
    counters_.add(&client_stats::draws);
    const auto drawn = co_await store_->draw(grant_of(*claim));
    if (epoch != epoch_ || closed_)
        co_return;
    // Without more tokens the grant goes back to the store when the last is used up.
    if (drawn)
        table_.add_tokens(*claim, *drawn);
    else
        table_.draw_failed(*claim);
}

void client_core::linger(const claim_ptr& claim) {
    queue_work work;
    const auto again = table_.linger_over(*claim, now(), work);
    deadlines_.set(claim->timer, again, [this, claim] { linger(claim); });
    carry_out(std::move(work));
}

std::vector<client_core::claim_ptr> client_core::all_asking() const {
    std::vector<claim_ptr> all;
    all.reserve(asking_.size() + idle_claims_.size());
    for (const auto& [id, claim] : asking_)
        all.push_back(claim);
    for (const auto& [order, claim] : idle_claims_)
        all.push_back(claim);
    return all;
}

}  // namespace mortise::detail
