// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_RELAY_STATS_HPP
#define MORTISE_OUTBOX_RELAY_STATS_HPP

#include <chrono>
#include <cstdint>

namespace mortise::outbox {

/// Counters of a relay over all its shards since its construction, and its present shards.
struct relay_stats {
    std::uint64_t sent = 0;        ///< Messages sent.
    std::uint64_t batches = 0;     ///< Batches with messages.
    std::uint64_t parked = 0;      ///< Rows that were parked.
    std::uint64_t purged = 0;      ///< Rows that were purged.
    std::uint64_t writes = 0;      ///< Write transactions on the database.
    std::uint64_t failures = 0;    ///< Attempts that failed and were or will be repeated.
    std::uint64_t refusals = 0;    ///< Times that a shard was refused.
    std::uint64_t marks_lost = 0;  ///< Times that a sink had forgotten its mark.
    std::uint64_t taken = 0;       ///< Times that a shard was taken over.
    std::uint64_t held = 0;        ///< Shards that the relay has now.
    std::uint64_t refused = 0;     ///< Those of them that wait for an operator.
};

/// What waits in a message table, as far as a relay knows. For its own shards the relay knows their
/// progress; for the others it counts by the marks in the table.
struct relay_lag {
    std::uint64_t rows = 0;               ///< Rows to send.
    std::chrono::microseconds oldest{0};  ///< The age of the oldest of these rows.
    std::uint64_t later = 0;              ///< Not due yet.
    std::uint64_t parked = 0;             ///< Rows that cannot be sent, or wait behind such a row.
};

}  // namespace mortise::outbox

#endif
