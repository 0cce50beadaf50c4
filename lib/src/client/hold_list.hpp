// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_HOLD_LIST_HPP
#define MORTISE_CLIENT_HOLD_LIST_HPP

#include "client/held_grant.hpp"

namespace mortise::detail {

// An intrusive list of leases, so that leaving costs nothing. Guarded by the mutex of the lock
// table.

inline void link(held_grant*& first, held_grant& held, held_grant::place where) noexcept {
    held.after = first;
    if (first != nullptr)
        first->before = &held;
    first = &held;
    held.stands = where;
}

inline void unlink(held_grant*& first, held_grant& held) noexcept {
    (held.before != nullptr ? held.before->after : first) = held.after;
    if (held.after != nullptr)
        held.after->before = held.before;
    held.before = held.after = nullptr;
    held.stands = held_grant::place::nowhere;
}

}  // namespace mortise::detail

#endif
