// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_STATS_HPP
#define MORTISE_CLIENT_STATS_HPP

#include <cstdint>

namespace mortise {

/// The counters of a client since its construction.
struct client_stats {
    std::uint64_t granted = 0;  ///< Leases delivered.
    /// Acquires that ended because `wait_max` ran out, and tries that failed.
    std::uint64_t busy = 0;
    std::uint64_t cancelled = 0;  ///< Acquires that ended with `operation_aborted`.
    std::uint64_t failed = 0;     ///< Acquires that ended with another code.
    std::uint64_t requests = 0;   ///< Requests for locks that were sent to the store.
    /// Grants of the store. `granted` is larger: a lease that is passed on needs no new grant.
    std::uint64_t grants = 0;
    std::uint64_t draws = 0;  ///< Times that more tokens were drawn for a grant.
    /// Leases released: handed on inside the process, or acknowledged by the store.
    std::uint64_t released = 0;
    std::uint64_t released_late = 0;      ///< Of these, handed over by a destructor.
    std::uint64_t lost = 0;               ///< Leases lost before the store confirmed their release.
    std::uint64_t heartbeats = 0;         ///< Acknowledged heartbeats.
    std::uint64_t heartbeats_failed = 0;  ///< Heartbeats without a good answer.
    /// Sessions opened; more than one means that one was lost.
    std::uint64_t sessions = 0;
    std::uint64_t looks = 0;          ///< Times that the store's entries were read again.
    std::uint64_t missed_grants = 0;  ///< Grants found by looking: their push was lost.
    /// Entries found at the store that nobody here owned; withdrawn.
    std::uint64_t orphans = 0;
    std::uint64_t undone_late = 0;  ///< Withdrawals and releases that outlasted their budget.
    std::uint64_t waiting = 0;      ///< Acquires under way just now.
    std::uint64_t leases = 0;       ///< Leases held just now.
};

}  // namespace mortise

#endif
