// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"

#include <algorithm>
#include <utility>

namespace mortise::detail {

// Starts a look, at most one at a time; a call during a look asks for another one after it.
void client_core::look_now() {
    if (!session_.open())
        return;
    if (looking_) {
        look_wanted_ = true;
        return;
    }
    looking_ = true;
    look_wanted_ = false;
    spawn(run_look(shared_from_this()));
}

asio::awaitable<void> client_core::run_look([[maybe_unused]] std::shared_ptr<client_core> self) {
    const auto epoch = epoch_;
    const random_id incarnation = incarnation_;
    const snapshot before = take_snapshot();
    const auto view = co_await store_->look();
    if (closed_ || epoch != epoch_)
        co_return;
    looking_ = false;
    counters_.add(&client_stats::looks);
    if (!view && view.error() == errc::session_lost) {
        session_over(errc::lease_lost);
    } else if (!view) {
        look_wanted_ = true;  // The next heartbeat tries again.
    } else {
        compare(*view, before);
        // A look that began before the store's incarnation changed does not prove the grants; the
        // look that the change asked for does.
        if (proof_pending_ && incarnation == incarnation_)
            proved(*std::exchange(proof_pending_, std::nullopt));
        if (look_wanted_)
            look_now();
    }
    arm();
}

// Notes the claims before a look is sent: its answer can judge only these.
client_core::snapshot client_core::take_snapshot() const {
    snapshot taken;
    taken.last_id = last_id_;
    taken.at = now();
    for (const auto& [id, claim] : asking_) {
        taken.known.insert(id);
        if (claim->fsm.at_store())
            taken.waiting.push_back(id);
    }
    taken.unproved = unproved_;
    for (const auto& [id, claim] : granted_) {
        taken.known.insert(id);
        taken.held.push_back(id);
    }
    for (const auto& [id, op] : releases_)
        taken.known.insert(id);
    return taken;
}

void client_core::compare(const session_view& view, const snapshot& before) {
    changes_seen_ = view.changes;
    std::map<request_id, const session_entry*> seen;
    for (const auto& entry : view.entries)
        seen.emplace(entry.id, &entry);
    for (const auto& entry : view.entries)
        see(entry, before);
    for (const request_id id : before.waiting) {
        const auto found = asking_.find(id);
        if (found == asking_.end() || seen.contains(id))
            continue;
        const claim_ptr claim = found->second;
        unproved_.erase(id);
        drive(claim, claim->fsm.missing());
    }
    queue_work work;
    for (const request_id id : before.held) {
        const auto found = granted_.find(id);
        if (found == granted_.end())
            continue;
        const auto entry = seen.find(id);
        const claim_ptr claim = found->second;
        if (entry != seen.end() && entry->second->granted && entry->second->token == claim->token)
            continue;
        granted_.erase(found);
        deadlines_.clear(claim->timer);
        deadlines_.clear(claim->alarm);
        lose(*claim, errc::lease_lost, work);
    }
    carry_out(std::move(work));
}

void client_core::see(const session_entry& entry, const snapshot& before) {
    if (const auto held = granted_.find(entry.id); held != granted_.end()) {
        if (entry.granted && entry.contended)
            contend(*held->second);
        return;
    }
    if (const auto found = asking_.find(entry.id); found != asking_.end()) {
        const claim_ptr claim = found->second;
        if (claim->fsm.unproved()) {
            // A store that was restarted may have forgotten the grant but still know the request.
            const bool same = entry.granted && entry.token == claim->fsm.pending();
            if (same || !before.unproved.contains(entry.id))
                return;
            unproved_.erase(entry.id);
            drive(claim, claim->fsm.revoked());
        }
        if (!entry.granted)
            return;
        const bool waited = claim->fsm.at_store();
        if (waited) {
            claim->seen_at = before.at;
            claim->age = entry.age;
        }
        note_grant(*claim, entry.slot, entry.contended);
        drive(claim, claim->fsm.granted(entry.token, surely_held()));
        if (waited && !claim->ends_by_itself())
            counters_.add(&client_stats::missed_grants);
        return;
    }
    if (!before.known.contains(entry.id) && entry.id <= before.last_id)
        spawn(run_orphan(shared_from_this(), entry.name, entry.id));
}

}  // namespace mortise::detail
