// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_OWNER_RECORDS_HPP
#define MORTISE_CLIENT_OWNER_RECORDS_HPP

#include "client/held_grant.hpp"
#include "mortise/owner_id.hpp"

#include <cstddef>
#include <map>

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

/// The owners of a lock's queue, apart from their holds: those that wait, so that the grant for one
/// acquire serves the others of the same owner, and those that have lost a lease and not let go of
/// it yet, so that they cannot acquire anew before.
///
/// Guarded by the mutex of the lock table.
class owner_records {
public:
    void stands(const owner_id& owner) {
        if (owner)
            ++waiting_[owner];
    }
    void leaves(const owner_id& owner) noexcept {
        const auto found = waiting_.find(owner);
        if (found != waiting_.end() && --found->second == 0)
            waiting_.erase(found);
    }
    bool waits(const owner_id& owner) const { return waiting_.contains(owner); }

    /// `held` must stand in no other list.
    void lose(held_grant& held) noexcept {
        if (held.owner)
            link(lost_, held, held_grant::place::lost);
    }
    void let_go(held_grant& held) noexcept {
        if (held.stands == held_grant::place::lost)
            unlink(lost_, held);
    }
    bool has_lost(const owner_id& owner) const noexcept {
        for (const held_grant* each = lost_; each != nullptr; each = each->after) {
            if (each->owner == owner)
                return true;
        }
        return false;
    }
    bool any_lost() const noexcept { return lost_ != nullptr; }

    void clear() noexcept {
        waiting_.clear();
        while (lost_ != nullptr)
            unlink(lost_, *lost_);
    }

private:
    std::map<owner_id, std::size_t> waiting_;  ///< Acquires, by owner.
    held_grant* lost_ = nullptr;
};

}  // namespace mortise::detail

#endif
