// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_LOCK_ENGINE_HPP
#define MORTISE_CORE_LOCK_ENGINE_HPP

#include "core/lock_rows.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::core {

/// What a committed transaction has to tell to a session.
struct effect {
    effect() = default;

    enum class kind : std::uint8_t { granted, contended, look_again };

    kind what = kind::look_again;
    session_key to = 0;
    std::string name;
    request_id id = 0;
    std::uint64_t token = 0;
    std::uint32_t slot = 0;
    bool contended = false;
};

/// The rules of the queue, once for every store whose rows this process reads and writes itself.
///
/// One object lives as long as one transaction. It has no clock and does no I/O: `now` is given,
/// and all state is behind `lock_rows`. `take_effects()` tells whom to notify after the commit;
/// effects for the session that acts are among them.
///
/// Invariants: at most one grant of a lock exists; grants are given in the order of arrival, except
/// that who is unreachable is passed over; a token is drawn when a grant is written, never before;
/// every operation ends with `advance`.
class lock_engine {
public:
    lock_engine(lock_rows& rows, clock::time_point now) noexcept : rows_(rows), now_(now) {}

    /// Idempotent by `(session, request.id)`.
    answer request(session_key session, const lock_request& request);

    /// @return whether there was anything to withdraw.
    bool withdraw(session_key session, request_id id);

    /// Compares session, id and token. @return whether the grant was there.
    bool release(session_key session, request_id id, std::uint64_t token);

    /// Takes the lock from the grant that has this token. @return whether there was one.
    bool break_grant(std::string_view name, std::uint64_t token);

    /// Ends a session: frees, withdraws and forgets everything of it.
    void end(session_key session);

    /// Grants whatever can be granted of this lock, as after a quarantine.
    void advance(std::string_view name);

    std::vector<effect> take_effects();

private:
    void remove(const lock_entry& entry, bool by_other);
    bool free_now(std::string_view name);
    void grant_next(std::string_view name);
    void grant_to(lock_entry entry);
    void tell_contended(const lock_entry& waiting);
    void found_gone(session_key session);
    void bury_gone();
    answer describe(const lock_entry& entry);

    lock_rows& rows_;
    clock::time_point now_;
    session_key actor_ = 0;
    std::vector<session_key> gone_;
    std::vector<effect> effects_;
};

}  // namespace mortise::core

#endif
