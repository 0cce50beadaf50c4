// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SQLITE_STATS_HPP
#define MORTISE_DB_SQLITE_STATS_HPP

#include <cstddef>
#include <cstdint>

namespace mortise::db {

/// The counters of a session since it was opened.
struct sqlite_stats {
    std::uint64_t transactions = 0;    ///< Closures whose work was committed.
    std::uint64_t forced = 0;          ///< Those of them that asked for `durability::force`.
    std::uint64_t rolled_back = 0;     ///< Closures that ran and whose work was undone.
    std::uint64_t batches = 0;         ///< Commits: transactions of SQLite that they shared.
    std::uint64_t batches_forced = 0;  ///< Those of them that waited for the disk.
    std::size_t batch_largest = 0;     ///< The most closures that one commit held.
    std::uint64_t reads = 0;           ///< Closures that only read, and ran to their end.
    std::uint64_t checkpoints = 0;     ///< Passes that copied the log back into the database.
    std::uint64_t conflicts = 0;       ///< Attempts of `optimistic_update` that came too late.
    std::size_t log_bytes = 0;  ///< The write-ahead log after the last commit of this session.
};

}  // namespace mortise::db

#endif
