// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_LOCK_ENGINE_HPP
#define MORTISE_CORE_LOCK_ENGINE_HPP

#include "core/lock_rows.hpp"
#include "core/queue_view.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "mortise/store_types.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::core {

/// A push that a session must get once the transaction is committed.
struct effect {
    effect() = default;

    using kind = store_event::kind;  ///< Granted, contended or look_again.

    kind type = kind::look_again;
    session_key to = 0;
    std::string name;
    request_id id = 0;
    std::uint64_t token = 0;
    std::uint32_t slot = 0;
    bool contended = false;
};

/// The grant of a request, as far as it is compared. `name` must outlive the call.
struct grant_key {
    std::string_view name;
    request_id id = 0;
    std::uint64_t token = 0;
    std::uint32_t slot = 0;
};

/// The rules of the queue, shared by all stores whose rows this process reads and writes itself.
///
/// One object serves one transaction, which has one operation or several, one after the other. It
/// has no clock and does no I/O: `now` is given, and all state is behind `lock_rows`.
/// `take_effects()` tells whom to notify after the commit, the acting session included.
///
/// An operation touches one lock. `queue_view` says who holds it and who gets it next. A dead
/// session is marked as dead by whoever meets one of its entries, and that entry is removed; its
/// entries in other locks stay until they are met or reaped. Reaping goes from lock to lock, and
/// its caller says how far it goes in one transaction.
///
/// Invariants: grants of one lock are one exclusive, or shared ones of one token, or permits of one
/// capacity on slots of their own; a token is drawn when a grant is written, never before; every
/// operation that may let somebody in ends with `advance`.
class lock_engine {
public:
    lock_engine(lock_rows& rows, clock::time_point now) noexcept : rows_(rows), now_(now) {}

    /// Idempotent by `(session, request.id)`. Fails with `bad_mode` or `capacity_differs` for a
    /// request that can never be granted; then nothing of it is written, but other requests may
    /// have been granted.
    result<answer> request(session_key session, const lock_request& request);

    /// @return whether there was anything to withdraw.
    bool withdraw(session_key session, std::string_view name, request_id id);

    /// Compares session, id, token and slot. @return whether the grant was there.
    bool release(session_key session, const grant_key& held);

    /// Draws that many bases for a grant, which is compared as by `release`.
    /// @return the first of them (zero if the rows failed), `lease_lost` if the grant is not there,
    /// `unsupported` if it is shared: other holders have the same token.
    result<std::uint64_t> draw(session_key session, const grant_key& held, std::uint64_t bases);

    /// Sets the end of a grant, which is compared as by `release`, to `hold_max` from now; the
    /// maximum takes its end away.
    /// @return its `hold_max` by now, counted from the grant; `lease_lost` if the grant is not
    /// there or has ended.
    result<std::chrono::milliseconds>
    extend(session_key session, const grant_key& held, std::chrono::milliseconds hold_max);

    /// Takes away each grant of the lock that has this token and slot. @return how many there were.
    std::size_t break_grants(std::string_view name, std::uint64_t token, std::uint32_t slot);

    /// Ends a session: marks it as dead, then removes its entries, lock by lock, and in the end
    /// forgets it. Takes one from `budget` for each entry and one for the session, and stops when
    /// nothing of it is left.
    /// @return whether the session is forgotten.
    bool reap(session_key session, std::size_t& budget);

    /// Takes away grants that have come to the end of their `hold_max`, lock by lock, and stops as
    /// `reap` does. @return whether none is left.
    bool expire(std::size_t& budget);

    /// Grants all that can be granted of this lock, for example after a quarantine.
    void advance(std::string_view name);

    std::vector<effect> take_effects();

private:
    queue_view grant_next(std::string_view name);
    void place_holders(std::string_view name, queue_view& view);
    bool place_holder(const lock_entry& holder, queue_view& view);
    bool remove_if_lapsed(const lock_entry& holder);
    queue_entry examine(const lock_entry& entry);
    void take_away(const lock_entry& holder);
    void remove(const lock_entry& entry, bool by_other);
    void remove_dead(const lock_entry& entry);
    bool make_grant(lock_entry& entry, queue_view& view);
    answer grant_newcomer(lock_entry entry, queue_view& view, bool waited_for);
    std::optional<lock_entry> held_grant(session_key session, const grant_key& held);
    void tell(effect::kind kind, const lock_entry& to);
    void untell(const lock_entry& gone);
    bool add_to_grant(const lock_entry& holder);
    void tell_contended(std::string_view name, session_key newcomer);
    void finish();
    std::uint64_t next_ordinal(std::string_view name);
    answer describe(const lock_entry& entry);

    lock_rows& rows_;
    clock::time_point now_;
    session_key actor_ = 0;
    std::vector<effect> effects_;
    std::size_t flagged_ = 0;  // effects whose `contended` is known
};

}  // namespace mortise::core

#endif
