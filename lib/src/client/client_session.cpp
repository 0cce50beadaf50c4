// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"
#include "client/who_am_i.hpp"
#include "core/planted_bug.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::detail {

using namespace std::chrono_literals;

void client_core::need_session() {
    if (opening_ || stopping_ || session_.open())
        return;
    deadlines_.clear(open_timer_);
    open_later_ = false;
    opening_ = true;
    ++epoch_;
    spawn(run_open(shared_from_this()));
}

asio::awaitable<void> client_core::run_open([[maybe_unused]] std::shared_ptr<client_core> self) {
    session_start start;
    session_id_ = random_id::draw();  // A gone session is never revived: each opening is a new one.
    start.id = session_id_;
    start.generation = 1;
    start.ttl = config_.ttl;
    start.host = this_host();
    start.label = config_.label.empty() ? this_program() : config_.label;
    start.pid = this_process();
    const auto reply = co_await store_->resume(std::move(start));
    opening_ = false;
    if (closed_ || stopping_)
        co_return;
    if (reply) {
        session_opened(*reply);
    } else {
        opening_failed(reply.error());
    }
    arm();
}

// Handles a failed opening; no request was sent yet, so there is nothing to undo. Waiters for a
// lock wait out an outage. But a store that was never reached may just be misspelt, so they are
// told after `first_contact_max`.
void client_core::opening_failed(error_code why) {
    constexpr auto first_contact_max = std::chrono::seconds(10);
    const bool outage = is_outage(why);
    if (openings_failed_++ == 0)
        outage_since_ = now();
    const bool waits = outage && (was_open_ || now() - outage_since_ < first_contact_max);
    const auto waiting = idle_claims_;
    for (const auto& [order, claim] : waiting) {
        if (!waits || !claim->queues)
            fail_idle(claim, why);
    }
    watchers_.complete_all(why);
    if (!waits)
        openings_failed_ = 0;
    if (idle_claims_.empty()) {
        // The next claim tries at once; if that fails, an outage begins then.
        outage_ = errc();
        openings_failed_ = 0;
        return;
    }
    note_outage(why);
    open_later_ = true;
    deadlines_.set(open_timer_, now() + undo_pause(openings_failed_), [this] {
        open_later_ = false;
        if (idle_claims_.empty())
            outage_ = errc();
        else
            need_session();
    });
}

void client_core::session_opened(const resumed& reply) {
    was_open_ = true;
    openings_failed_ = 0;
    outage_ = errc();
    counters_.add(&client_stats::sessions);
    tell({.what = lock_event::kind::session_opened});
    incarnation_ = reply.incarnation;
    changes_seen_ = reply.view.changes;
    note_quarantine(reply.quarantine);
    reap_at_ = now();  // Waiters beat at once, to learn when another session may be dead.
    proof_pending_.reset();
    session_.proved(reply.sent);
    publish();
    const auto waiting = idle_claims_;
    for (const auto& [order, claim] : waiting)
        drive(claim, claim->fsm.session_ready());
    changed();  // Changes before the session were not pushed: watchers must look.
}

void client_core::fail_idle(const claim_ptr& claim, error_code why) {
    queue_work work;
    table_.doomed(*claim, work);
    stop(claim, why);
    carry_out(std::move(work));
}

void client_core::beat_now() {
    if (beating_ || !session_.open())
        return;
    beating_ = true;
    spawn(run_beat(shared_from_this()));
}

asio::awaitable<void> client_core::run_beat([[maybe_unused]] std::shared_ptr<client_core> self) {
    const auto epoch = epoch_;
    const auto calls = calls_;
    const bool quiet = calls_under_way_ == 0;
    const auto reply = co_await store_->beat();
    beating_ = false;
    if (closed_ || epoch != epoch_)
        co_return;
    if (reply) {
        beaten(*reply, quiet && calls == calls_);
    } else {
        counters_.add(&client_stats::heartbeats_failed);
        tell({.what = lock_event::kind::heartbeat_failed, .code = reply.error()});
        if (reply.error() == errc::session_lost) {
            session_over(errc::lease_lost);
        } else {
            session_.failed(now());
            reap_at_ = std::max(reap_at_, session_.beat_at());
        }
    }
    arm();
}

// `quiet`: no call of ours can have changed the counts between the store's answer and now.
void client_core::beaten(const heartbeat& reply, bool quiet) {
    outage_ = errc();
    counters_.add(&client_stats::heartbeats);
    tell({.what = lock_event::kind::heartbeat, .took = now() - reply.sent});
    note_quarantine(reply.quarantine);
    reap_at_ = reply.next_deadline
                   ? now() + std::max<clock::duration>(*reply.next_deadline, 1ms) + reap_spread()
                   : clock::time_point::max();
    if (reply.incarnation != incarnation_) {
        // The store may have forgotten something: a look must confirm each grant first.
        incarnation_ = reply.incarnation;
        session_.doubt(now(), traits_.quarantine);
        publish();
        proof_pending_ = reply.sent;
        session_.failed(now());
        look_now();
        return;
    }
    if (proof_pending_) {
        proof_pending_ = reply.sent;
        session_.failed(now());
    } else if (MORTISE_PLANTED(deadline_from_receipt)) {
        proved(now());
    } else {
        proved(reply.sent);
    }
    const bool counts_differ =
        quiet && (reply.grants != granted_.size() + unproved_.size() ||
                  reply.grants + reply.requests != granted_.size() + asking_.size());
    if (MORTISE_PLANTED(no_look_again))
        return;
    if (reply.changes != changes_seen_ || counts_differ || look_wanted_)
        look_now();
}

// A small random delay: without it, all waiters for a dead holder would ask for its end at once.
clock::duration client_core::reap_spread() const noexcept {
    constexpr std::uint64_t parts = 1'024;
    const clock::duration most = std::min<clock::duration>(timing_.ttl / 50, 50ms);
    return most * static_cast<clock::rep>(session_id_.low % parts) / parts;
}

void client_core::note_quarantine(clock::duration left) noexcept {
    quarantine_until_ =
        (left > left.zero() ? now() + left : clock::time_point::min()).time_since_epoch().count();
}

clock::duration client_core::quarantine_left() const noexcept {
    const clock::time_point until{clock::duration(quarantine_until_)};
    return until == clock::time_point::min() ? clock::duration(0)
                                             : std::max(clock::duration(0), until - now());
}

void client_core::proved(clock::time_point sent) {
    session_.proved(sent);
    publish();
    if (!surely_held())
        return;  // The answer took longer than its own window.
    for (const request_id id : std::exchange(unproved_, {})) {
        if (const auto found = asking_.find(id); found != asking_.end()) {
            const claim_ptr claim = found->second;
            drive(claim, claim->fsm.proved());
        }
    }
}

void client_core::publish() {
    watch_->publish(session_.verified(), session_.deadline());
}

// Ends the session. Its leases are lost; its waiters begin again with a new session.
void client_core::session_over(errc why) {
    if (session_.open())
        tell({.what = lock_event::kind::session_lost, .code = why});
    session_.gone();
    publish();
    ++epoch_;
    proof_pending_.reset();
    calls_under_way_ = 0;
    beating_ = looking_ = look_wanted_ = false;
    changed();
    reap_at_ = clock::time_point::max();
    unproved_.clear();
    queue_work work;
    lose_all(why, work);
    for (const auto& [id, op] : std::exchange(releases_, {})) {
        deadlines_.clear(op->timer);
        deadlines_.clear(op->retry_timer);
        complete_release(*op, why);
    }
    const auto at_store = std::exchange(asking_, {});
    for (const auto& [id, claim] : at_store) {
        drive(claim, claim->fsm.session_lost());
        if (!claim->fsm.settled())
            to_idle(claim);
    }
    if (idle_claims_.empty())
        outage_ = errc();
    else
        need_session();
    carry_out(std::move(work));
    arm();
}

// Gives up the session because something of it cannot be undone: without heartbeats the store ends
// it and frees all that it has.
void client_core::abandon() {
    session_over(errc::lease_lost);
}

bool client_core::has_waiters() const {
    return asking_.size() > unproved_.size();
}

}  // namespace mortise::detail
