// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_LOCK_ROWS_HPP
#define MORTISE_CORE_LOCK_ROWS_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/lock_mode.hpp"
#include "mortise/store_types.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::core {

/// The store's own short name of a session: grows, and is never used twice.
using session_key = std::uint64_t;

/// A request that stands at the store: a holder or a waiter of one lock.
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
    clock::time_point since;  ///< Of the grant, or of the wish.
};

enum class presence : std::uint8_t {
    alive,
    /// Lives, but cannot be told of a grant just now: keeps its place, is passed over.
    unreachable,
    gone,  ///< Dead for ever.
};

/// What the lock engine reads and writes: the view of one transaction at one store.
///
/// Implementations never throw (but `bad_alloc`). A store whose reads or writes can fail remembers
/// the first failure, answers "nothing there" from then on, and rolls the whole transaction back:
/// so every loop of the engine ends.
class lock_rows {
public:
    /// The entry of that request, if it is there.
    virtual std::optional<lock_entry> find(session_key session, request_id id) = 0;

    /// The first entry of the lock, among the granted or among the waiting, whose ordinal is above
    /// `after`.
    virtual std::optional<lock_entry>
    next(std::string_view name, bool granted, std::uint64_t after) = 0;

    /// The highest ordinal among the granted or the waiting entries of the lock; zero if there is
    /// none.
    virtual std::uint64_t last_ordinal(std::string_view name, bool granted) = 0;

    virtual void insert(const lock_entry& entry) = 0;
    virtual void erase(const lock_entry& entry) = 0;

    /// Turns a waiting entry into a grant: `granted`, `token` and `since` of `entry` are already
    /// set.
    virtual void grant(const lock_entry& entry) = 0;

    /// Some entry of that session, if it has any.
    virtual std::optional<lock_entry> any_of(session_key session) = 0;

    virtual presence presence_of(session_key session) = 0;

    /// Removes the session itself; its entries are gone already.
    virtual void forget(session_key session) = 0;

    /// Notes that the entries of a session changed: its counts by so much, and its change number if
    /// somebody else did it.
    virtual void
    changed(session_key session, std::int64_t grants, std::int64_t requests, bool by_other) = 0;

    /// The base of the next token: above every base drawn before. Zero after a failure.
    virtual std::uint64_t draw_base() = 0;

    /// Whether nothing may be granted yet, because a forgotten holder may still believe in its
    /// lease.
    virtual bool quarantined() = 0;

protected:
    ~lock_rows() = default;
};

}  // namespace mortise::core

#endif
