// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_STATS_HPP
#define MORTISE_TXN_COORDINATOR_STATS_HPP

#include <cstdint>

namespace mortise::txn {

/// Counters of one coordinator since it was made.
class coordinator_stats {
public:
    std::uint64_t begun = 0;
    std::uint64_t confirmed = 0;     ///< Decided to confirm.
    std::uint64_t cancelled = 0;     ///< Decided to cancel.
    std::uint64_t ended = 0;         ///< Every branch is finished.
    std::uint64_t calls = 0;         ///< Calls of participants.
    std::uint64_t calls_failed = 0;  ///< Calls without a clear answer.
    std::uint64_t taken_up = 0;      ///< Found unfinished in the log.
    std::uint64_t stuck = 0;         ///< Branches that became stuck.
    /// Open transactions of which a participant has seen something that the log does not know. The
    /// log is an old copy, or the participant is wrong.
    std::uint64_t suspicious = 0;
    std::uint64_t open = 0;                 ///< Under way now.
    std::uint64_t forgotten = 0;            ///< Forgotten because their retention is over.
    std::uint64_t partitions = 0;           ///< Partitions that this coordinator works on now.
    std::uint64_t participants_broken = 0;  ///< Do not answer now, and are rarely called.
    std::uint64_t prepared = 0;             ///< Branches that the last look found prepared.
    std::uint64_t prepared_oldest_ms = 0;   ///< For how long the oldest of them has been.
    std::uint64_t orphans_ended = 0;        ///< Prepared branches without a transaction, ended.
    std::uint64_t orphans_left = 0;         ///< Such branches that people have to end.
};

}  // namespace mortise::txn

#endif
