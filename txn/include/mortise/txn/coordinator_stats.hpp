// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_STATS_HPP
#define MORTISE_TXN_COORDINATOR_STATS_HPP

#include <cstdint>

namespace mortise::txn {

/// Counters of one coordinator since it was made.
class coordinator_stats {
public:
    std::uint64_t begun = 0;
    std::uint64_t confirmed = 0;     ///< Decided so.
    std::uint64_t cancelled = 0;     ///< Decided so.
    std::uint64_t ended = 0;         ///< Every branch is finished.
    std::uint64_t calls = 0;         ///< Of participants.
    std::uint64_t calls_failed = 0;  ///< Without a clear answer.
    std::uint64_t taken_up = 0;      ///< Found in the log, unfinished.
    std::uint64_t stuck = 0;         ///< Branches that became stuck.
    /// Open ones of which a participant has seen what the log does not know: it is an old copy, or
    /// the participant is wrong.
    std::uint64_t suspicious = 0;
    std::uint64_t open = 0;                 ///< Under way now.
    std::uint64_t forgotten = 0;            ///< Their retention is over.
    std::uint64_t partitions = 0;           ///< Of the log, that are decided here now.
    std::uint64_t participants_broken = 0;  ///< They do not answer now, and are hardly called.
};

}  // namespace mortise::txn

#endif
