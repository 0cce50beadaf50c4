// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SERVER_STATS_HPP
#define MORTISE_DB_SERVER_STATS_HPP

#include <cstddef>
#include <cstdint>

namespace mortise::db {

/// Counters of a session with a database server, since it was made, and four sizes.
struct server_stats {
    std::uint64_t connections_opened = 0;
    std::uint64_t connections_failed = 0;  ///< That could not be opened.
    /// Those that ended before a cancelled statement was answered.
    std::uint64_t connections_abandoned = 0;
    std::uint64_t committed = 0;
    std::uint64_t prepared = 0;  ///< Transactions that `async_prepare` has left prepared.
    std::uint64_t rolled_back = 0;
    std::uint64_t repeated = 0;         ///< Attempts that came after a failed one.
    std::uint64_t commits_unknown = 0;  ///< Commits whose answer was lost.
    std::uint64_t cancelled = 0;        ///< Statements that the server was asked to cancel.

    std::size_t connections = 0;  ///< Open now, or being opened.
    std::size_t idle = 0;         ///< Open connections without work.
    std::size_t in_use = 0;       ///< The other connections.
    std::size_t waiting = 0;      ///< Transactions that wait for a connection now.
};

}  // namespace mortise::db

#endif
