// SPDX-License-Identifier: BSL-1.0
// Claims: what the store and the session say of them.
#include "client/claims.hpp"
#include "client/client_core.hpp"

#include <utility>

namespace mortise::detail {

void claims::granted(const store_event& event) {
    const auto found = asking_.find(event.id);
    if (found == asking_.end())
        return;
    const claim_ptr claim = found->second;
    if (claim->ends_by_itself() && claim->fsm.at_store())
        return core_.looks.start();  // `hold_max` counts from the grant: only a look tells its age.
    note_grant(*claim, event.slot, event.contended);
    drive(claim, claim->fsm.granted(event.token, core_.session.surely_held()));
}

void claims::contended(request_id id) {
    if (const auto found = granted_.find(id); found != granted_.end())
        contended(*found->second);
    else if (const auto asked = asking_.find(id); asked != asking_.end())
        contended(*asked->second);
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
        drive(claim, claim->fsm.session_lost());
        if (!claim->fsm.settled())
            to_idle(claim);
    }
}

void claims::missing(const claim_ptr& claim) {
    unproved_.erase(claim->id);
    drive(claim, claim->fsm.missing());
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

void claims::lose_missing(const claim_ptr& claim, queue_work& work) {
    granted_.erase(claim->id);
    context_.clear_timer(claim->timer);
    context_.clear_timer(claim->alarm);
    lose(*claim, errc::lease_lost, work);
}

}  // namespace mortise::detail
