// SPDX-License-Identifier: BSL-1.0
// Claims: what the store and the session say of them.
#include "client/claims.hpp"
#include "client/client_core.hpp"

#include <utility>

namespace mortise::detail {

bool claims::granted(const store_event& event) {
    const auto found = asking_.find(event.id);
    if (found == asking_.end() || own_.looks.is_gone(event.id))
        return false;
    const claim_ptr claim = found->second;
    if (claim->ends_by_itself() && claim->fsm.at_store()) {
        own_.looks.start();  // `hold_max` counts from the grant: only a look tells its age.
        return true;
    }
    note_grant(*claim, event.slot, event.contended);
    take_grant(claim, event.token, event.number);
    return true;
}

// A claim that has its grant already stays with the proof that was named with it.
void claims::take_grant(const claim_ptr& claim, const fencing_token& token, proof_number number) {
    client_session& keeps = core_.sessions.at(number);
    const bool had_grant = claim->fsm.has_grant();
    const action next = claim->fsm.granted(token, keeps.keeper.surely_held());
    if (!had_grant && claim->fsm.has_grant())
        go_over(claim, keeps);
    drive(claim, next);
}

void claims::answered(const claim_ptr& claim, const answer& reply) {
    const bool granted = reply.type == answer::kind::granted;
    client_session& keeps = granted ? core_.sessions.at(reply.number) : own_;
    const bool had_grant = claim->fsm.has_grant();
    const action next = claim->fsm.answered(reply, keeps.keeper.surely_held());
    if (!had_grant && claim->fsm.has_grant())
        go_over(claim, keeps);
    drive(claim, next);
}

bool claims::contended(request_id id) {
    for (const auto* const each : {&granted_, &asking_}) {
        if (const auto found = each->find(id); found != each->end()) {
            contended(*found->second);
            return true;
        }
    }
    return false;
}

void claims::contended(claim& claim) {
    queue_work work;
    if (core_.locals.table().contended(claim, work)) {
        context_.tell(
            {.type = lock_event::kind::contended, .name = claim.lock_name(), .token = claim.token}
        );
    }
    core_.locals.carry_out(std::move(work));
}

void claims::note_grant(claim& claim, std::uint32_t slot, bool is_contended) {
    if (!claim.fsm.token())  // From then on any thread may read it.
        claim.slot = slot;
    if (is_contended)
        contended(claim);
}

void claims::session_opened() {
    const auto waiting = idle_;
    for (const auto& [order, claim] : waiting)
        drive(claim, claim->fsm.session_ready());
}

void claims::session_proved() {
    for (const request_id id : std::exchange(unproved_, {})) {
        if (const auto found = asking_.find(id); found != asking_.end()) {
            const claim_ptr claim = found->second;
            drive(claim, claim->fsm.proved());
        }
    }
}

void claims::session_lost() {
    unproved_.clear();
    const auto at_store = std::exchange(asking_, {});
    for (const auto& [id, claim] : at_store) {
        if (claim->behind)
            claim->fsm.stop(not_asked());
        drive(claim, claim->fsm.session_lost());
        if (!claim->fsm.settled())
            to_idle(claim);
    }
}

// A session that keeps grants does not see the requests of the others: a claim that has lost its
// grant there goes back to the session that asks for its lock.
void claims::missing(const claim_ptr& claim) {
    unproved_.erase(claim->id);
    action next = claim->fsm.missing();
    if (claim->behind && next == action::send_request)
        next = claim->fsm.refused(not_asked());  // Nothing was sent yet.
    if (next != action::send_request || own_.number == context_.number_of(claim->lock_name()))
        return drive(claim, next);
    asking_.erase(claim->id);
    drive(claim, claim->fsm.session_lost());
    to_idle(claim);
}

void claims::revoked(const claim_ptr& claim) {
    unproved_.erase(claim->id);
    drive(claim, claim->fsm.revoked());
}

void claims::warn_all() {
    for (const auto& [id, claim] : granted_) {
        for (const auto& held : core_.locals.table().holders(*claim)) {
            context_.tell(lock_event::kind::warned, *held, errc::lease_expired);
            held->end_waiting(errc::lease_expired);
        }
    }
}

void claims::lose(claim& claim, errc why, queue_work& work) {
    for (const auto& held : core_.locals.table().lost(claim, work)) {
        context_.clear_timer(held->alarm);
        context_.clear_timer(held->timer);
        core_.locals.lose(*held, why);
    }
}

void claims::lose_all(errc why, queue_work& work) {
    for (const auto& [id, claim] : std::exchange(granted_, {})) {
        context_.clear_timer(claim->timer);
        context_.clear_timer(claim->alarm);
        lose(*claim, why, work);
    }
}

bool claims::taken_away(request_id id) {
    const auto found = granted_.find(id);
    if (found == granted_.end()) {
        // A look settles it.
        if (const auto asked = asking_.find(id);
            asked != asking_.end() && asked->second->fsm.unproved())
            revoked(claim_ptr(asked->second));
        return own_.releases.under_way().contains(id);  // Its answer says that it was lost.
    }
    queue_work work;
    const claim_ptr claim = found->second;
    lose_missing(claim, work);
    core_.locals.carry_out(std::move(work));
    return true;
}

void claims::lose_missing(const claim_ptr& claim, queue_work& work) {
    granted_.erase(claim->id);
    context_.clear_timer(claim->timer);
    context_.clear_timer(claim->alarm);
    lose(*claim, errc::lease_lost, work);
}

}  // namespace mortise::detail
