// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_DURABLE_HPP
#define MORTISE_OUTBOX_SRC_TABLE_DURABLE_HPP

#include "mortise/db/connection.hpp"

#include <cstdint>
#include <mutex>
#include <optional>

struct sqlite3_file;

namespace mortise::outbox::table {

/// Sees to it that what is heard of is on the disk, also what was written by somebody who did not
/// wait for that himself (`synchronous = NORMAL`, in whatever process).
///
/// A failed sync is not tried again: the kernel may call pages clean that never reached the disk,
/// and the next one would succeed without them. All is refused then until the write-ahead log has
/// begun anew, which it does when SQLite has copied it into the database and synced that.
///
/// @par Threads Any.
class durability_check {
public:
    /// Waits until everything that was committed to the database is on its disk. What is not in the
    /// write-ahead log any more was synced when it was copied back.
    ///
    /// In a transaction that has read. @throws error
    void make_durable(db::connection& on);

private:
    void sync(::sqlite3_file& log);

    std::mutex mutex_;
    std::optional<std::uint64_t> doubtful_;  ///< The log of which a sync has failed, by its salt.
};

}  // namespace mortise::outbox::table

#endif
