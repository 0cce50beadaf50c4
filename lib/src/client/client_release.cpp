// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"

#include <boost/asio/dispatch.hpp>

#include <utility>

namespace mortise::detail {

void client_core::release(const std::shared_ptr<held_grant>& held, release_handler handler) {
    if (!held->take_for_release()) {
        table_.let_go(*held);
        handler.complete(held->check());
        return;
    }
    held->end_waiting(errc::lease_released);
    queue_work work;
    const auto outcome = table_.release(*held, handler, false, work);
    count_release(*held, outcome, false);
    carry_out(std::move(work));
    // `was_gone`: the session was lost, or the client stopped, after `take_for_release`.
    if (handler)
        handler.complete(
            outcome == lock_queue::release_outcome::was_gone ? held->why() : error_code()
        );
}

// Releases a lease for a destructor: nobody waits for the result, and it must not throw.
void client_core::release_late(const std::shared_ptr<held_grant>& held) noexcept {
    if (process_.forked())
        return;
    if (*context_ended_)
        return table_.forget(*held);
    if (!held->take_for_release())
        return table_.let_go(*held);
    held->end_waiting(errc::lease_released);
    queue_work work;
    release_handler nobody;
    const auto outcome = table_.release(*held, nobody, true, work);
    count_release(*held, outcome, true);
    carry_out(std::move(work));
}

// Counts a release. A grant that goes back to the store counts as released once the store has it.
void client_core::count_release(
    const held_grant& held, lock_queue::release_outcome outcome, bool late
) noexcept {
    if (outcome == lock_queue::release_outcome::was_gone)
        return;
    tell(lock_event::kind::released, held);
    counters_.add(&client_stats::leases, -1);
    if (outcome == lock_queue::release_outcome::to_store)
        return;
    counters_.add(&client_stats::released);
    if (late)
        counters_.add(&client_stats::released_late);
}

// @return the release under way; null if the grant is gone already.
std::shared_ptr<release_op> client_core::start_release(const claim_ptr& claim) {
    deadlines_.clear(claim->timer);
    deadlines_.clear(claim->alarm);
    const auto op =
        std::make_shared<release_op>(claim, std::move(claim->released), claim->released_late);
    if (granted_.erase(claim->id) == 0) {
        // The session was lost, or the client stopped, on the way here.
        complete_release(*op, stopping_ ? errc::client_stopped : errc::lease_lost);
        return nullptr;
    }
    op->since = now();
    releases_.emplace(claim->id, op);
    deadlines_.set(op->timer, coro::saturating_add(op->since, config_.release_budget), [this, op] {
        counters_.add(&client_stats::undone_late);
        tell_failed(*op, errc::outcome_unknown);
        complete_release(*op, errc::outcome_unknown);
    });
    spawn(run_release(shared_from_this(), op));
    arm();
    return op;
}

asio::awaitable<void> client_core::run_release(
    [[maybe_unused]] std::shared_ptr<client_core> self, std::shared_ptr<release_op> op
) {
    const auto epoch = epoch_;
    ++calls_;
    ++calls_under_way_;
    const auto reply = co_await store_->release(grant_of(*op->released_claim));
    op->answered = true;
    --calls_under_way_;
    if (epoch != epoch_ || closed_)
        co_return;  // The end of the session completed it.
    if (reply) {
        end_release(op, *reply || op->retries != 0 ? error_code() : error_code(errc::lease_lost));
    } else if (reply.error() == errc::session_lost) {
        session_over(errc::lease_lost);
    } else {
        op->store_busy = reply.error() == errc::database_busy;
        release_later(op);
    }
    for (const auto& next : std::exchange(op->behind, {})) {
        if (epoch == epoch_ && !next->fsm.finished())
            drive(next, next->fsm.session_ready());
    }
    arm();
}

// Retries after a pause, and gives up the session for the same reason as `try_later`.
void client_core::release_later(const std::shared_ptr<release_op>& op) {
    if (!op->store_busy && now() - op->since > timing_.ttl + config_.release_budget)
        return abandon();
    deadlines_.set(op->retry_timer, now() + undo_pause(op->retries++), [this, op] {
        spawn(run_release(shared_from_this(), op));
    });
}

void client_core::end_release(const std::shared_ptr<release_op>& op, error_code result) {
    deadlines_.clear(op->timer);
    deadlines_.clear(op->retry_timer);
    releases_.erase(op->released_claim->id);
    if (result) {
        counters_.add(&client_stats::lost);
        tell_failed(*op, result);
    } else {
        counters_.add(&client_stats::released);
    }
    if (op->late && !result)
        counters_.add(&client_stats::released_late);
    complete_release(*op, result);
}

// Takes a grant whose time is over from its holders and gives it back, before the store takes it by
// itself.
void client_core::end_grant(claim& claim, errc why, queue_work& work) {
    if (!granted_.contains(claim.id))
        return;
    lose(claim, why, work);
    start_release(claim.shared_from_this());
}

// Sets the timers of a reentrant lease with its own `hold_max`: the store knows only its grant.
void client_core::end_hold_at(const std::shared_ptr<held_grant>& held) {
    const std::weak_ptr<held_grant> weak = held;
    deadlines_.set(held->alarm, held->alarm_at, [this, weak] {
        const auto alive = weak.lock();
        if (!alive || alive->check())
            return;
        tell(lock_event::kind::warned, *alive, errc::lease_expired);
        alive->end_waiting(errc::lease_expired);
    });
    deadlines_.set(held->timer, held->ends_at, [this, weak] {
        if (const auto alive = weak.lock())
            end_hold(*alive);
    });
}

void client_core::end_hold(held_grant& held) {
    queue_work work;
    if (table_.end_hold(held, work) == lock_queue::release_outcome::was_gone)
        return;  // The lease was released, or lost with its grant.
    if (held.lose(errc::lease_expired)) {
        counters_.add(&client_stats::lost);
        tell(lock_event::kind::lost, held, errc::lease_expired);
    }
    counters_.add(&client_stats::leases, -1);
    carry_out(std::move(work));
}

void client_core::tell_failed(const release_op& op, error_code why) const noexcept {
    lock_event event;
    event.what = lock_event::kind::release_failed;
    event.name = op.released_claim->lock_name();
    event.token = op.released_claim->token;
    event.code = why;
    tell(event);
}

void client_core::complete_release(release_op& op, error_code result) {
    if (auto handler = std::move(op.handler))
        handler.complete(result);
}

void client_core::wait_lost(std::shared_ptr<held_grant> held, lease_handler handler) {
    if (*context_ended_)
        return handler.complete(errc::client_stopped);
    // Begin the wait in the initiating call, or a cancellation that follows at once is missed.
    // Check the lease after that, on the strand where the alarm is raised, so that no alarm falls
    // between the two.
    held->wait_lost(std::move(handler));
    asio::dispatch(*strand_, [self = shared_from_this(), held = std::move(held)] {
        const error_code now = held->check();
        const bool warned = self->session_.alarm_at() == clock::time_point::max();
        if (now)
            held->end_waiting(now);
        else if (warned || self->now() >= held->end_alarm())
            held->end_waiting(errc::lease_expired);
    });
}

// Begins the wait before the check, for the same reason. It needs no strand: the table knows from
// any thread who waits for the lock.
void client_core::wait_contended(const std::shared_ptr<held_grant>& held, lease_handler handler) {
    if (process_.forked())
        return handler.complete(errc::forked);
    if (*context_ended_)
        return handler.complete(errc::client_stopped);
    held->wait_contended(std::move(handler));
    const bool waits = table_.watch(*held);
    if (const error_code now = held->check(); now || !waits)
        held->end_contended(now);
}

// Withdraws an entry at the store that no claim here owns. If that fails, the next look finds it
// again.
asio::awaitable<void> client_core::run_orphan(
    [[maybe_unused]] std::shared_ptr<client_core> self, std::string name, request_id id
) {
    counters_.add(&client_stats::orphans);
    ++calls_;
    ++calls_under_way_;
    const error_code result = co_await store_->withdraw(std::move(name), id);
    --calls_under_way_;
    look_wanted_ = look_wanted_ || result;
}

}  // namespace mortise::detail
