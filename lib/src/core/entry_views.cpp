// SPDX-License-Identifier: BSL-1.0
#include "core/entry_views.hpp"

#include <algorithm>

namespace mortise::core {

store_event event_of(const effect& effect, const token_domain& domain) {
    store_event event;
    event.type = effect.type;
    event.id = effect.id;
    event.token = {effect.token, domain.of_slot(effect.slot)};
    event.slot = effect.slot;
    event.contended = effect.contended;
    return event;
}

session_entry own_view(
    const lock_entry& entry, const token_domain& domain, bool waited_for, clock::time_point now
) {
    session_entry seen;
    seen.id = entry.id;
    seen.name = entry.name;
    seen.granted = entry.granted;
    if (!entry.granted)
        return seen;
    seen.token = {entry.token, domain.of_slot(entry.slot)};
    seen.slot = entry.slot;
    seen.contended = waited_for;
    seen.age = now - entry.since;
    seen.hold_max = entry.hold_max;
    return seen;
}

party_view party_of(
    const lock_entry& entry,
    const session_start& owner,
    clock::time_point deadline,
    const token_domain& domain,
    clock::time_point now
) {
    party_view party;
    party.session = owner.id;
    party.host = owner.host;
    party.label = owner.label;
    party.pid = owner.pid;
    party.mode = entry.mode;
    party.hold_max = entry.hold_max;
    if (entry.granted)
        party.token = {entry.token, domain.of_slot(entry.slot)};
    party.slot = entry.slot;
    party.age = now - entry.since;
    const auto until = std::min(deadline, entry.ends());
    if (until != clock::time_point::max())
        party.left = until - now;
    return party;
}

std::vector<party_view>* place_in(lock_view& lock, bool granted, std::size_t queue_max) {
    if (granted)
        return &lock.holders;
    ++lock.waiter_count;
    return lock.waiters.size() < queue_max ? &lock.waiters : nullptr;
}

}  // namespace mortise::core
