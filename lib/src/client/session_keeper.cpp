// SPDX-License-Identifier: BSL-1.0
#include "client/session_keeper.hpp"

#include "client/client_core.hpp"
#include "client/who_am_i.hpp"
#include "core/planted_bug.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::detail {

using namespace std::chrono_literals;

std::uint64_t session_keeper::begin_call() noexcept {
    ++calls_;
    ++calls_under_way_;
    return epoch_;
}

bool session_keeper::end_call(std::uint64_t epoch) noexcept {
    if (epoch == epoch_)
        --calls_under_way_;
    return is_current(epoch);
}

// Begins no epoch, since `lose` has begun it: a grant may have been named with this number already,
// and the answer to its withdrawal counts.
void session_keeper::need() {
    if (opening_ || context_.stopping() || fsm_.open())
        return;
    context_.clear_timer(open_timer_);
    open_later_ = false;
    opening_ = true;
    context_.spawn(run_open(context_.keep()));
}

asio::awaitable<void> session_keeper::run_open([[maybe_unused]] std::shared_ptr<const void> kept) {
    session_start start;
    id_ = random_id::draw();  // A gone session is never revived: each opening is a new one.
    start.number = own_.number;
    start.id = id_;
    start.generation = 1;
    start.ttl = context_.config().ttl;
    start.host = this_host();
    const std::string& label = context_.config().label;
    start.label = label.empty() ? this_program() : label;
    start.pid = this_process();
    const auto reply = co_await context_.at_store().resume(std::move(start));
    opening_ = false;
    if (context_.closed() || context_.stopping())
        co_return;
    if (reply) {
        context_.read_traits();
        opened(*reply);
    } else if (reply.error() == errc::session_lost) {
        opening_failed(errc::store_unavailable);  // it stood still until the new session was over
    } else {
        opening_failed(reply.error());
    }
    core_.arm();
}

// Handles a failed opening. No request was sent under the session yet, so there is nothing to undo
// but grants that it was to keep. Waiters for a lock wait out an outage. But a store that was never
// reached may just be misspelt, so they are told after `first_contact_max`.
void session_keeper::opening_failed(error_code why) {
    constexpr auto first_contact_max = 10s;
    const bool outage = is_outage(why);
    if (openings_failed_++ == 0)
        outage_since_ = context_.now();
    const bool waits = outage && (was_open_ || context_.now() - outage_since_ < first_contact_max);
    const auto waiting = own_.claims.idle();
    for (const auto& [order, claim] : waiting) {
        if (!waits || !claim->queues)
            own_.claims.refuse(claim, why);
    }
    if (own_.number == 0)
        core_.questions.end_watches(why);
    own_.claims.refuse_unproved(why, waits);
    if (!waits)
        openings_failed_ = 0;
    if (opening_)
        return;  // A claim that waited behind a refused one has begun the next opening.
    if (!own_.claims.need_session()) {
        // The next claim tries at once; if that fails, an outage begins then.
        outage_over();
        openings_failed_ = 0;
        return;
    }
    note_outage(why);
    open_later_ = true;
    context_.set_timer(open_timer_, context_.now() + undo_pause(openings_failed_), [this] {
        open_later_ = false;
        if (own_.claims.need_session())
            need();
        else
            outage_over();
    });
}

void session_keeper::opened(const resumed& reply) {
    was_open_ = true;
    openings_failed_ = 0;
    outage_over();
    context_.count.add(&client_stats::sessions);
    context_.tell({.type = lock_event::kind::session_opened});
    incarnation_ = reply.incarnation;
    own_.looks.note_changes(reply.view.changes);
    note_quarantine(reply.quarantine);
    reap_at_ = context_.now();  // Waiters beat at once, to learn when another session may be dead.
    proof_pending_.reset();
    fsm_.proved({reply.sent, reply.base});
    publish();
    own_.claims.session_opened();
    if (surely_held())
        own_.claims.session_proved();  // Grants that were named with this number before.
    core_.questions.changed();  // Changes before the session were not pushed: watchers must look.
}

void session_keeper::beat() {
    if (beating_ || !fsm_.open())
        return;
    beating_ = true;
    context_.spawn(run_beat(context_.keep()));
}

void session_keeper::prove() {
    if (fsm_.open())
        beat();
    else if (!open_later_)
        need();
}

void session_keeper::beat_if_due(clock::time_point at, clock::time_point soon) {
    if (beat_is_due(soon) || (own_.claims.has_waiters() && reap_at_ <= at))
        beat();
}

clock::time_point session_keeper::next_deadline() const {
    clock::time_point next = fsm_.alarm_at();
    if (beating_)
        return next;
    next = std::min(next, fsm_.beat_at());
    return own_.claims.has_waiters() ? std::min(next, reap_at_) : next;
}

asio::awaitable<void> session_keeper::run_beat([[maybe_unused]] std::shared_ptr<const void> kept) {
    const auto epoch = epoch_;
    const auto calls = calls_;
    const bool quiet = calls_under_way_ == 0;
    const auto reply = co_await context_.at_store().beat(own_.number);
    if (!is_current(epoch))
        co_return;  // `lose` has set `beating_`: the next session may be beating already.
    beating_ = false;
    if (reply) {
        beaten(*reply, quiet && calls == calls_);
    } else {
        context_.count.add(&client_stats::heartbeats_failed);
        context_.tell({.type = lock_event::kind::heartbeat_failed, .code = reply.error()});
        if (reply.error() == errc::session_lost) {
            lose(errc::lease_lost);
        } else {
            fsm_.failed(context_.now());
            reap_at_ = std::max(reap_at_, fsm_.beat_at());
        }
    }
    core_.arm();
}

// `quiet`: no call of ours can have changed the counts between the store's answer and now.
void session_keeper::beaten(const heartbeat& reply, bool quiet) {
    const auto at = context_.now();
    const core::proof_of_life proof(reply.sent, reply.base);
    outage_over();
    context_.count.add(&client_stats::heartbeats);
    context_.tell({.type = lock_event::kind::heartbeat, .took = at - reply.sent});
    note_quarantine(reply.quarantine);
    reap_at_ =
        reply.next_deadline ? at + pause_before(*reply.next_deadline) : clock::time_point::max();
    if (reply.incarnation != incarnation_) {
        // The store may have forgotten something: a look must confirm each grant first.
        incarnation_ = reply.incarnation;
        doubt();
        proof_pending_ = proof;
        fsm_.failed(at);
        own_.looks.start();
        return;
    }
    if (proof_pending_) {
        proof_pending_ = proof;
        fsm_.failed(at);
    } else if (MORTISE_PLANTED(deadline_from_receipt)) {
        proved(at);
    } else {
        proved(proof);
    }
    if (!MORTISE_PLANTED(no_look_again))
        own_.looks.start_if_different(reply, quiet);
}

// How long a waiter lets others be after a heartbeat. A small random delay is added to a deadline
// of others: without it, all waiters for a dead holder would ask for its end at once. If a portion
// of the dead is left, whoever freed the last one goes on without it.
clock::duration session_keeper::pause_before(clock::duration deadline) const noexcept {
    constexpr clock::duration least = 1ms;
    if (deadline <= deadline.zero())
        return least;
    constexpr std::uint64_t parts = 1'024;
    const clock::duration most = std::min<clock::duration>(context_.timing().ttl / 50, 50ms);
    return std::max(deadline, least) + most * static_cast<clock::rep>(id_.low % parts) / parts;
}

void session_keeper::note_quarantine(clock::duration left) noexcept {
    const bool any = left > left.zero();
    own_.watch->set_quarantine(any ? context_.now() + left : clock::time_point::min());
}

bool session_keeper::is_outage(const error_code& why) const noexcept {
    return context_.traits().remote &&
           (why == errc::store_unavailable || why == errc::outcome_unknown ||
            why == errc::server_loading || why == errc::server_busy ||
            why == errc::read_only_server || why == errc::not_enough_replicas);
}

void session_keeper::note_outage(const error_code& why) noexcept {
    own_.watch->set_outage(static_cast<errc>(why.value()));
}

void session_keeper::outage_over() noexcept {
    own_.watch->set_outage(errc());
}

void session_keeper::proved(const core::proof_of_life& proof) {
    fsm_.proved(proof);
    publish();
    if (surely_held())  // If not, the answer took longer than its own window.
        own_.claims.session_proved();
}

void session_keeper::confirm_proof(const random_id& incarnation) {
    // A look that began before the store's incarnation changed does not prove the grants; the look
    // that the change asked for does.
    if (proof_pending_ && incarnation == incarnation_)
        proved(*std::exchange(proof_pending_, std::nullopt));
}

void session_keeper::doubt() {
    fsm_.doubt(context_.now(), context_.traits().quarantine);
    publish();
}

void session_keeper::publish() {
    own_.watch->publish(fsm_.verified(), fsm_.deadline());
}

void session_keeper::end() {
    fsm_.gone();
    publish();
}

void session_keeper::lose(errc why) {
    if (fsm_.open())
        context_.tell({.type = lock_event::kind::session_lost, .code = why});
    end();
    ++epoch_;
    proof_pending_.reset();
    calls_under_way_ = 0;
    beating_ = false;
    reap_at_ = clock::time_point::max();
    own_.looks.session_lost();
    core_.questions.changed();
    queue_work work;
    own_.claims.lose_all(why, work);
    own_.releases.session_lost(why);
    own_.claims.session_lost();
    if (own_.claims.need_session())
        need();
    else
        outage_over();
    core_.locals.carry_out(std::move(work));
    core_.arm();
}

}  // namespace mortise::detail
