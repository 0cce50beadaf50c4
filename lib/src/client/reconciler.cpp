// SPDX-License-Identifier: BSL-1.0
#include "client/reconciler.hpp"

#include "client/client_core.hpp"

#include <map>
#include <utility>

namespace mortise::detail {

void reconciler::start() {
    if (!own_.keeper.open())
        return;
    if (looking_) {
        wanted_ = true;
        return;
    }
    looking_ = true;
    wanted_ = owed_ = false;
    granted_meanwhile_.clear();
    told_from_ = told_to_ = 0;  // The view has what was told so far, unless its store went back.
    context_.spawn(run_look(context_.keep()));
}

void reconciler::start_if_different(const heartbeat& reply, bool quiet) {
    const auto granted = own_.claims.granted().size();
    const bool counts_differ =
        quiet && context_.traits().counts &&
        (reply.grants != granted + own_.claims.unproved().size() ||
         reply.grants + reply.requests != granted + own_.claims.asking().size());
    if (!is_known(reply.changes) || counts_differ || wanted_ || owed_)
        start();
}

void reconciler::session_lost() noexcept {
    looking_ = wanted_ = owed_ = false;
    granted_meanwhile_.clear();
    unheard_.clear();
    gone_.clear();
    told_from_ = told_to_ = 0;
}

void reconciler::note_told(std::uint64_t change) noexcept {
    if (change == 0)
        return;
    if (told_from_ == 0 || change < told_from_ || change > told_to_ + 1)
        told_from_ = told_to_ = change;
    else if (change > told_to_)
        told_to_ = change;
    skip_told();
}

// Whether nothing has to be looked for at a store with that change number: it is the newest that is
// known, or older by changes that events have told since the store said it.
bool reconciler::is_known(std::uint64_t changes) const noexcept {
    return changes == changes_seen_ || (told_from_ != 0 && changes_seen_ == told_to_ &&
                                        changes + 1 >= told_from_ && changes < told_to_);
}

void reconciler::skip_told() noexcept {
    if (told_from_ != 0 && changes_seen_ + 1 >= told_from_ && changes_seen_ < told_to_)
        changes_seen_ = told_to_;
}

void reconciler::note_grant(request_id id) {
    if (unheard_.erase(id) != 0)
        owed_ = true;
    if (looking_)
        granted_meanwhile_.push_back(id);
}

// A change that a view counts may be the end of a grant that was not heard of when the look was
// sent: that look does not judge it, and its change is told by no other. It is no sign of one in
// most cases, so that the next heartbeat is soon enough.
void reconciler::note_unjudged(const session_view& view) {
    const bool news = view.changes > changes_seen_;
    std::set<request_id> unheard;
    for (const auto& [id, claim] : own_.claims.asking()) {
        if (!claim->fsm.at_store() && (news || unheard_.contains(id)))
            unheard.insert(id);
    }
    unheard_ = std::move(unheard);
    owed_ = owed_ || (news && !granted_meanwhile_.empty());
}

asio::awaitable<void> reconciler::run_look([[maybe_unused]] std::shared_ptr<const void> kept) {
    const auto epoch = own_.keeper.epoch();
    const random_id incarnation = own_.keeper.incarnation();
    const snapshot before = take_snapshot();
    const auto view = co_await context_.at_store().look(own_.number);
    if (!own_.keeper.is_current(epoch))
        co_return;
    looking_ = false;
    context_.count.add(&client_stats::looks);
    if (!view && view.error() == errc::session_lost) {
        own_.keeper.lose(errc::lease_lost);
    } else if (!view) {
        wanted_ = true;  // The next heartbeat tries again.
    } else {
        compare(*view, before);
        own_.keeper.confirm_proof(incarnation);
        if (wanted_)
            start();
        else
            forget_gone(before);
    }
    core_.arm();
}

// A look that began after the grant was taken away shows what is true. But the answer to a request
// may still say that it was granted; asked again by the same number, it may even be true by then.
void reconciler::forget_gone(const snapshot& before) {
    const auto& asking = own_.claims.asking();
    for (const request_id id : before.gone) {
        const auto found = asking.find(id);
        if (found == asking.end() || found->second->fsm.at_store())
            gone_.erase(id);
    }
}

reconciler::snapshot reconciler::take_snapshot() const {
    snapshot taken;
    taken.last_id = core_.sessions.last_id();
    taken.at = context_.now();
    taken.gone = gone_;
    for (const auto& [id, claim] : own_.claims.asking()) {
        if (claim->fsm.at_store())
            taken.waiting.push_back(id);
    }
    taken.unproved = own_.claims.unproved();
    for (const auto& [id, claim] : own_.claims.granted())
        taken.held.push_back(id);
    for (const auto& [number, session] : core_.sessions.all()) {
        for (const auto& [id, claim] : session->claims.asking())
            taken.known.insert(id);
        for (const auto& [id, claim] : session->claims.granted())
            taken.known.insert(id);
        for (const auto& [id, op] : session->releases.under_way())
            taken.known.insert(id);
    }
    return taken;
}

void reconciler::compare(const session_view& view, const snapshot& before) {
    note_unjudged(view);
    changes_seen_ = view.changes;
    skip_told();  // An event may have told of a later change than the look saw.
    std::map<request_id, const session_entry*> seen;
    for (const auto& entry : view.entries)
        seen.emplace(entry.id, &entry);
    for (const auto& entry : view.entries)
        compare(entry, before);
    const auto& asking = own_.claims.asking();
    for (const request_id id : before.waiting) {
        const auto found = asking.find(id);
        if (found == asking.end() || seen.contains(id))
            continue;
        const auto claim = found->second;
        own_.claims.missing(claim);
    }
    queue_work work;
    const auto& granted = own_.claims.granted();
    for (const request_id id : before.held) {
        const auto found = granted.find(id);
        if (found == granted.end())
            continue;
        const auto entry = seen.find(id);
        const auto claim = found->second;
        if (entry != seen.end() && entry->second->granted && entry->second->token == claim->token)
            continue;
        own_.claims.lose_missing(claim, work);
    }
    core_.locals.carry_out(std::move(work));
}

void reconciler::compare(const session_entry& entry, const snapshot& before) {
    const client_session* const owner = core_.sessions.owner_of(entry.id);
    if (owner != nullptr && owner != &own_)
        return;  // It keeps the grant: its own look judges it.
    if (is_gone(entry.id) && !before.gone.contains(entry.id))
        return;  // It was taken away since this was read; the next look shows that.
    const auto& granted = own_.claims.granted();
    if (const auto held = granted.find(entry.id); held != granted.end()) {
        const auto claim = held->second;
        if (entry.granted && entry.token == claim->token)
            own_.ends.compare(claim, entry, before.at);
        if (entry.granted && entry.contended)
            own_.claims.contended(*claim);
        return;
    }
    const auto& asking = own_.claims.asking();
    if (const auto found = asking.find(entry.id); found != asking.end()) {
        const auto claim = found->second;
        if (claim->fsm.unproved()) {
            // A store that was restarted may have forgotten the grant but still know the request.
            const bool same = entry.granted && entry.token == claim->fsm.pending();
            if (same || !before.unproved.contains(entry.id))
                return;
            own_.claims.revoked(claim);
        }
        if (!entry.granted)
            return;
        const bool waited = claim->fsm.at_store();
        if (waited) {
            claim->seen_at = before.at;
            claim->age = entry.age;
        }
        own_.claims.note_grant(*claim, entry.slot, entry.contended);
        own_.claims.take_grant(claim, entry.token, entry.number);
        if (waited && !claim->ends_by_itself())
            context_.count.add(&client_stats::missed_grants);
        return;
    }
    if (!before.known.contains(entry.id) && entry.id <= before.last_id)
        own_.releases.withdraw_orphan(entry.name, entry.id);
}

}  // namespace mortise::detail
