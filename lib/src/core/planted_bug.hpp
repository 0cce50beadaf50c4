// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_PLANTED_BUG_HPP
#define MORTISE_CORE_PLANTED_BUG_HPP

// Bugs that other lock libraries have had, to be switched on by the simulation, which must find
// each of them. They are compiled only with MORTISE_PLANT_BUGS, which the test build has.
#ifdef MORTISE_PLANT_BUGS

#include <cstdint>

namespace mortise::core {

enum class planted_bug : std::uint8_t {
    none,
    // The store's.
    request_not_idempotent,      ///< A repeated request is a second one.
    release_without_compare,     ///< Frees the lock, whoever holds it by now.
    heartbeat_revives,           ///< A session that is gone is there again.
    restart_without_quarantine,  ///< Grants at once what forgotten holders believe to hold.
    tokens_start_again,          ///< After a restart without memory.
    session_cut_short,           ///< Ends at 9/10 of its TTL.
    mark_not_synced,             ///< What keeps tokens growing is not forced to the disk.
    readers_and_writers,         ///< A writer gets in while readers are there.
    // The client's.
    deadline_from_receipt,   ///< The lease counts from the answer, not from the question.
    no_look_again,           ///< What the heartbeat says of changes is not looked at.
    lease_without_clock,     ///< Says "held" until a timer has fired.
    hold_max_without_drift,  ///< Trusts all of the time that the store keeps a grant.
    // The resource's.
    gate_stands_open,  ///< Lets everybody in.
};

/// The one that is there; for programs of one thread.
inline planted_bug& planted() noexcept {
    static planted_bug present = planted_bug::none;
    return present;
}

}  // namespace mortise::core

#define MORTISE_PLANTED(what) (::mortise::core::planted() == ::mortise::core::planted_bug::what)

#else

#define MORTISE_PLANTED(what) false

#endif

#endif
