// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_HPP
#define MORTISE_STORE_SQLITE_HPP

#include "mortise/store.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace mortise {

/// The settings of an SQLite store: where the locks of one host live, and how.
class sqlite_store_config {
public:
    sqlite_store_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The database file; made if it is not there, with the last folder of its path (0700); the
    /// folder above must be there. Its side files live in a folder beside it, named
    /// like it with `.mortise` appended. Never shared with the database of an application.
    std::filesystem::path path;

    /// The domain of the tokens, 1 to 25 characters without `#` (each slot of a lock with permits
    /// has a domain of its own, this one with `#` and a number); empty: made from the store's
    /// random id. Written into a new store; an existing store keeps its own, and another one is
    /// then refused.
    std::string domain;

    /// The write-ahead log is copied back into the database when it has grown by this many bytes.
    std::size_t checkpoint_bytes = 16u << 20;

    /// How long the event loop stays awake for a commit, and the writer's thread for the next
    /// operation, before they sleep, at most 1 ms; zero: never. Other handlers have their turn as
    /// ever, and where it does not pay it stops by itself.
    std::chrono::microseconds busy_poll_max{50};

    /// Accept a network file system. Locks across hosts then do not exclude each other.
    bool allow_network_file_system = false;

    /// SQLite's file system to use, by its name there; empty: the usual one.
    std::string vfs;

    /// For tests: stands in for the boot id of the host; empty: the real one.
    std::string boot_id_override;

    /// For tests: stands in for the type of file system that the kernel names; zero: the real one.
    std::int64_t file_system_type_override = 0;
};

/// A store for all processes of one host, in an SQLite file of its own.
///
/// Opens nothing yet but checks what can be checked without I/O; the file is opened by the first
/// acquire.
/// @throws error if the configuration cannot work.
std::unique_ptr<store> make_sqlite_store(sqlite_store_config config);

}  // namespace mortise

#endif
