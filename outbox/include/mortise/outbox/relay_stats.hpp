// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_RELAY_STATS_HPP
#define MORTISE_OUTBOX_RELAY_STATS_HPP

#include <chrono>
#include <cstdint>

namespace mortise::outbox {

/// What a relay counted since it was made, of all its shards, and what it has just now.
struct relay_stats {
    std::uint64_t sent = 0;        ///< Messages.
    std::uint64_t batches = 0;     ///< Of messages.
    std::uint64_t parked = 0;      ///< Rows that were moved out of the way.
    std::uint64_t purged = 0;      ///< Rows that were forgotten.
    std::uint64_t writes = 0;      ///< Transactions with the database.
    std::uint64_t failures = 0;    ///< Tries that did not work, and were or will be repeated.
    std::uint64_t refusals = 0;    ///< Times that a shard was refused.
    std::uint64_t marks_lost = 0;  ///< Times that a sink had forgotten how far it got.
    std::uint64_t taken = 0;       ///< Times that a shard was taken over.
    std::uint64_t held = 0;        ///< Shards that it has just now.
    std::uint64_t refused = 0;     ///< Those of them for which an operator has to decide.
};

/// What waits in a message table, as far as a relay knows: of the shards that it has it knows how
/// far they are, of the others what the table says.
struct relay_lag {
    std::uint64_t rows = 0;               ///< To be sent.
    std::chrono::microseconds oldest{0};  ///< How long ago the oldest of them was written.
    std::uint64_t later = 0;              ///< Not due yet.
    std::uint64_t parked = 0;             ///< They cannot be sent, or wait behind such a one.
};

}  // namespace mortise::outbox

#endif
