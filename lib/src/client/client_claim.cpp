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

// Who goes to the end of the queue again, behind those who wait for what is just released, asks
// when the store has it back: in one message with the release it would be served before they are
// told.
void client_core::start(const claim_ptr& what, const std::shared_ptr<release_op>& releasing) {
    if (what->fsm.finished())
        return;  // The signal was faster.
    if (stopping_)
        return stop(what, errc::client_stopped);
    what->order = ++last_order_;
    idle_claims_.emplace(what->order, what);
    const bool again = releasing && releasing->what->of == what->of && releasing->what->contended;
    if (open_later_ && what->queues)
        return;  // Its time does not depend on who comes meanwhile.
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

// From the moment that nobody wants the lock any more, the budget runs.
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
    // Asked again is only what the store was seen to have nothing of. It has another id then: what
    // was pushed to the old one, and comes late, says nothing any more.
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
        co_return;  // That session is gone; the state machine was told.
    if (reply) {
        outage_ = errc();
        // The end of such a grant counts from its beginning, which may be that of the first try:
        // the store must say how old it is.
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
        // Nothing was done, so there is nothing to undo: the session need not answer for it.
        drive(what, what->fsm.refused(errc::store_unavailable));
    } else {
        lose_answer(what, reply.error());
    }
    arm();
}

// Who waits for the lock waits for the store, too: the request is asked again by its id.
void client_core::lose_answer(const claim_ptr& what, error_code why) {
    const bool outage = is_outage(why);
    if (outage)
        note_outage(why);
    if (outage && what->queues && !stopping_ && !what->fsm.stopped())
        drive(what, what->fsm.connection_lost(why));
    else
        fail_request(what, why);
}

// What the store says of a grant, by whichever way it is heard of.
void client_core::note_grant(claim& what, std::uint32_t slot, bool contended) {
    what.slot = slot;
    if (contended)
        contend(what);
}

// Whether it arrived is unknown, so it is undone like a cancelled one, within the same budget.
void client_core::fail_request(const claim_ptr& what, error_code why) {
    queue_work work;
    table_.doomed(*what, work);
    const action next = what->fsm.request_failed(why);
    bound_undo(what);
    drive(what, next);
    carry_out(std::move(work));
}

// An outage of a server is waited out by whoever waits for the lock; a try is told at once.
bool client_core::is_outage(const error_code& why) const noexcept {
    return traits_.remote && (why == errc::store_unavailable || why == errc::outcome_unknown ||
                              why == errc::server_loading || why == errc::server_busy ||
                              why == errc::read_only_server);
}

void client_core::note_outage(const error_code& why) noexcept {
    outage_ = static_cast<errc>(why.value());
}

// The store is there again.
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

// After an outage it is tried at once, see `ask_again`.
//
// A live session would keep for ever what cannot be withdrawn: after a TTL of trying it is given
// up. Not while the store is busy with somebody else: then nobody can get anything, and the leases
// of the session need not be lost for it.
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

// The store granted it no sooner than this: when it was asked, or when its age says so.
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

// Back to the queue of those that wait for a session.
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
