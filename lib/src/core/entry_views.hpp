// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_ENTRY_VIEWS_HPP
#define MORTISE_CORE_ENTRY_VIEWS_HPP

#include "core/lock_engine.hpp"
#include "core/lock_rows.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/store_types.hpp"
#include "mortise/token_domain.hpp"

#include <cstddef>
#include <vector>

namespace mortise::core {

// What stores that run the lock engine tell of its entries. `domain` is that of the store.

/// The event by which a session hears what the engine did for it.
store_event event_of(const effect& effect, const token_domain& domain);

/// An entry as its own session sees it.
/// @param waited_for whether another session waits for the lock.
session_entry own_view(
    const lock_entry& entry, const token_domain& domain, bool waited_for, clock::time_point now
);

/// An entry as people see it.
/// @param owner its session, which lives until `deadline`.
party_view party_of(
    const lock_entry& entry,
    const session_start& owner,
    clock::time_point deadline,
    const token_domain& domain,
    clock::time_point now
);

/// Counts an entry in the view of its lock. @return the list that shows it; null if it is a waiter
/// behind the first `queue_max`, which are shown.
std::vector<party_view>* place_in(lock_view& lock, bool granted, std::size_t queue_max);

}  // namespace mortise::core

#endif
