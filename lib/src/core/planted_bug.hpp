// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_PLANTED_BUG_HPP
#define MORTISE_CORE_PLANTED_BUG_HPP

// Bugs that other lock libraries have had. The simulation switches them on and must find each one.
// They are compiled only with MORTISE_PLANT_BUGS, which the test build has.
#ifdef MORTISE_PLANT_BUGS

#include <cstdint>

namespace mortise::core {

enum class planted_bug : std::uint8_t {
    none,
    // The store's.
    request_not_idempotent,      ///< A repeated request is a second one.
    release_without_compare,     ///< Frees the lock, whoever holds it by now.
    heartbeat_revives,           ///< A heartbeat brings a gone session back.
    restart_without_quarantine,  ///< Grants at once locks that forgotten holders rely on.
    tokens_start_again,          ///< After a restart that lost the store's memory.
    session_cut_short,           ///< Ends at 9/10 of its TTL.
    mark_not_synced,             ///< The mark that keeps tokens growing is not forced to the disk.
    readers_and_writers,         ///< A writer gets in while readers are there.
    // The client's.
    deadline_from_receipt,     ///< The window counts from the answer, not from the sending.
    no_look_again,             ///< Makes no look when a heartbeat reports changes.
    lease_without_clock,       ///< Says "held" until a timer has fired.
    hold_max_without_drift,    ///< Trusts all of the time that the store keeps a grant.
    extension_taken_for_done,  ///< Trusts an extension that the store has not answered yet.
    lease_by_other_proof,      ///< A lease watches another server's proof than that of its grant.
    // Of a store at several servers.
    minority_suffices,  ///< One vote less than a majority makes a grant, and keeps it.
    any_node_proves,    ///< A heartbeat counts for a lease that its node has forgotten.
    // Of a store at an ensemble.
    beat_proves_itself,  ///< A lease counts from the heartbeat that was acknowledged.
    // The resource's.
    gate_stands_open,  ///< Lets everybody in.
};

/// The bug that is switched on; for programs of one thread.
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
