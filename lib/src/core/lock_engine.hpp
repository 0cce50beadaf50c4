// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_LOCK_ENGINE_HPP
#define MORTISE_CORE_LOCK_ENGINE_HPP

#include "core/lock_rows.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "mortise/store_types.hpp"

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

    enum class kind : std::uint8_t { granted, contended, look_again };

    kind type = kind::look_again;
    session_key to = 0;
    std::string name;
    request_id id = 0;
    std::uint64_t token = 0;
    std::uint32_t slot = 0;
    bool contended = false;
};

/// The rules of the queue, shared by all stores whose rows this process reads and writes itself.
///
/// One object serves one transaction, which has one operation or several, one after the other. It
/// has no clock and does no I/O: `now` is given, and all state is behind `lock_rows`.
/// `take_effects()` tells whom to notify after the commit, the acting session included.
///
/// There is one queue per lock, for all modes. From its head it grants each request that goes
/// together with the present holders, and stops at the first that does not: a writer who waits
/// stops the readers behind it. An unreachable waiter is passed over and keeps its place; a waiter
/// whose session is gone is removed.
///
/// Invariants: grants of one lock are one exclusive, or shared ones of one token, or permits of one
/// capacity on slots of their own; a token is drawn when a grant is written, never before; every
/// operation ends with `advance`.
class lock_engine {
public:
    lock_engine(lock_rows& rows, clock::time_point now) noexcept : rows_(rows), now_(now) {}

    /// Idempotent by `(session, request.id)`. Fails with `bad_mode` or `capacity_differs` for a
    /// request that can never be granted; then nothing of it is written, but other requests may
    /// have been granted.
    result<answer> request(session_key session, const lock_request& request);

    /// @return whether there was anything to withdraw.
    bool withdraw(session_key session, request_id id);

    /// Compares session, id, token and slot. @return whether the grant was there.
    bool release(session_key session, request_id id, std::uint64_t token, std::uint32_t slot);

    /// Draws that many bases for a grant, which is compared as by `release`.
    /// @return the first of them (zero if the rows failed), `lease_lost` if the grant is not there,
    /// `unsupported` if it is shared: other holders have the same token.
    result<std::uint64_t> draw(
        session_key session,
        request_id id,
        std::uint64_t token,
        std::uint32_t slot,
        std::uint64_t bases
    );

    /// Takes away each grant of the lock that has this token and slot. @return how many there were.
    std::size_t break_grants(std::string_view name, std::uint64_t token, std::uint32_t slot);

    /// Ends a session: frees its grants, withdraws its requests and forgets it.
    void end(session_key session);

    /// Takes away every grant that has come to the end of its `hold_max`.
    void expire();

    /// Grants all that can be granted of this lock, for example after a quarantine.
    void advance(std::string_view name);

    std::vector<effect> take_effects();

private:
    /// The state of a lock once nobody else in its queue can be granted.
    struct standing {
        holder_set held;
        bool blocked = false;     ///< A newcomer must queue, whatever its mode.
        bool waited_for = false;  ///< Somebody may be waiting.
    };

    standing settle(std::string_view name);
    standing grant_next(std::string_view name);
    holder_set holders_of(std::string_view name);
    bool lapsed(const lock_entry& holder);
    void take_away(const lock_entry& holder);
    void remove(const lock_entry& entry, bool by_other);
    bool make_grant(lock_entry& entry, holder_set& held);
    answer grant_newcomer(lock_entry entry, standing& found);
    std::optional<lock_entry>
    held_grant(session_key session, request_id id, std::uint64_t token, std::uint32_t slot);
    void tell(effect::kind kind, const lock_entry& to);
    void untell(const lock_entry& gone);
    bool add_to_grant(const lock_entry& holder);
    void tell_contended(std::string_view name, session_key newcomer);
    void found_gone(session_key session);
    void bury_gone();
    void finish();
    std::uint64_t next_ordinal(std::string_view name);
    answer describe(const lock_entry& entry);

    lock_rows& rows_;
    clock::time_point now_;
    session_key actor_ = 0;
    std::vector<session_key> gone_;
    std::vector<effect> effects_;
    std::size_t flagged_ = 0;  // effects whose `contended` is known
};

}  // namespace mortise::core

#endif
