// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SQLITE_CONFIG_HPP
#define MORTISE_DB_SQLITE_CONFIG_HPP

#include "mortise/coro/time_source.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace mortise::db {

/// The settings of a session: its database, and its limits.
class sqlite_config {
public:
    sqlite_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The database file; made if it is not there. Beside it lie SQLite's own files and
    /// `PATH.checkpoint`, which keeps the checkpoints of several sessions apart.
    std::filesystem::path path;

    /// Closures that may wait, in each of the two queues; the running ones are not counted.
    std::size_t queue_max = 4'096;

    /// Closures that share a transaction at most; up to 1,048,576.
    std::size_t batch_max = 1'024;

    /// The write-ahead log is copied back when it has grown to this many bytes. It has about four
    /// times that at most, unless a long read holds on to it.
    std::size_t checkpoint_bytes = 4u << 20;

    /// How long a batch, or the opening, waits for another connection that holds the database.
    std::chrono::milliseconds busy_max{5'000};

    /// How long the destructor waits for running closures; at most a year.
    std::chrono::milliseconds grace{2'000};

    /// Prepared statements that each of the two connections keeps.
    std::size_t statements_max = 128;

    /// Pages of the database that the reading connection keeps, in bytes. They are of use to
    /// the next read if nobody has written meanwhile.
    std::size_t read_cache_bytes = 2u << 20;

    /// Accept a network file system, where several hosts at once destroy the database.
    bool allow_network_file_system = false;

    /// For tests: stands in for the type of file system that the kernel names; zero: the real one.
    std::int64_t file_system_type_override = 0;

    /// The seed of the pauses of `optimistic_update`; zero: a random one.
    std::uint64_t jitter_seed = 0;

    /// The time source for the pauses of `optimistic_update`; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// A file system layer that was registered with SQLite; empty: the default one.
    std::string vfs;
};

}  // namespace mortise::db

#endif
