// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_LOCK_ROWS_HPP
#define MORTISE_CORE_LOCK_ROWS_HPP

#include "core/queue_view.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/lock_mode.hpp"
#include "mortise/store_types.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::core {

/// The store's own short name of a session: keys grow, and none is used twice.
using session_key = std::uint64_t;

/// A request at the store: a holder or a waiter of one lock.
struct lock_entry {
    lock_entry() = default;

    std::string name;
    bool granted = false;
    std::uint64_t ordinal = 0;  ///< The place in the queue; grows in the order of arrival.
    session_key session = 0;
    request_id id = 0;
    lock_mode mode;
    std::chrono::milliseconds hold_max = std::chrono::milliseconds::max();
    std::uint64_t token = 0;  ///< Full token value of a grant; zero while it waits.
    std::uint32_t slot = 0;   ///< Of a granted permit: from 1 to the capacity; else zero.
    clock::time_point since;  ///< The time of the grant; of a waiter, that of the request.

    /// When a grant ends because of its `hold_max`; the clock's maximum if it has none.
    clock::time_point ends() const noexcept {
        return granted && hold_max != std::chrono::milliseconds::max()
                   ? coro::saturating_add(since, hold_max)
                   : clock::time_point::max();
    }
};

/// The rows that the lock engine reads and writes: the view of one transaction at one store.
///
/// Implementations throw nothing but `bad_alloc`. A store whose reads or writes can fail remembers
/// the first failure, answers "nothing there" from then on, and rolls back the whole transaction:
/// so every loop of the engine ends.
///
/// Members with a body read the entries of the lock one by one; a store with an index for them does
/// better.
class lock_rows {
public:
    /// The entry of that request for this lock, if there is one.
    virtual std::optional<lock_entry>
    find(std::string_view name, session_key session, request_id id);

    /// The first entry of the lock, among the granted or among the waiting, whose ordinal is above
    /// `after`.
    virtual std::optional<lock_entry>
    next(std::string_view name, bool granted, std::uint64_t after) = 0;

    /// The highest ordinal among the granted or the waiting entries of the lock; zero if there is
    /// none.
    virtual std::uint64_t last_ordinal(std::string_view name, bool granted);

    /// All holders of the lock, in the order of their ordinals.
    virtual std::vector<lock_entry> holders(std::string_view name);
    virtual std::uint64_t holder_count(std::string_view name);

    /// Whether any session other than `session` waits for the lock.
    virtual bool others_wait(std::string_view name, session_key session);

    /// The capacity of the lock's permits, held or waited for: it is the same for all entries of
    /// one lock. Zero if there is no such entry.
    virtual std::uint32_t capacity_of(std::string_view name);

    /// Any grant that ends at or before `now`.
    virtual std::optional<lock_entry> next_ended(clock::time_point now) = 0;

    /// Adds an entry, granted or waiting.
    virtual void insert(const lock_entry& entry) = 0;
    virtual void erase(const lock_entry& entry) = 0;

    /// Turns a waiting entry into a grant: `granted`, `token`, `slot` and `since` of `entry` are
    /// already set.
    virtual void grant(const lock_entry& entry) = 0;

    /// Changes the `hold_max` of a grant. Nobody watches for that.
    virtual void set_hold_max(const lock_entry& granted, std::chrono::milliseconds hold_max);

    virtual presence presence_of(session_key session) = 0;

    /// Makes the session one that is gone, for good. Its entries may still be there: each stays
    /// until somebody meets it in its lock, or the session is reaped.
    virtual void mark_dead(session_key session) = 0;

    /// Any entry of that session, for reaping.
    virtual std::optional<lock_entry> any_of(session_key session) = 0;

    /// Removes all that is left of a dead session that has no entries.
    virtual void forget(session_key session) = 0;

    /// Notes that the entries of a session changed: adds `grants` and `requests` to its counts, and
    /// advances its change number if no answer tells it of the change. Of a dead session nothing
    /// need be noted.
    virtual void
    changed(session_key session, std::int64_t grants, std::int64_t requests, bool unanswered) = 0;

    /// Draws `count` consecutive bases of tokens, above every base drawn before.
    /// @return the first of them, or zero after a failure.
    virtual std::uint64_t draw_bases(std::uint64_t count) = 0;

    /// Whether the store must not grant anything yet, because a holder that it has forgotten may
    /// still rely on its lease.
    virtual bool quarantined() = 0;

protected:
    ~lock_rows() = default;

private:
    std::optional<lock_entry>
    first(std::string_view name, bool granted, const std::function<bool(const lock_entry&)>& fits);
};

}  // namespace mortise::core

#endif
