// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_DURABLE_HPP
#define MORTISE_OUTBOX_SRC_TABLE_DURABLE_HPP

#include "mortise/db/connection.hpp"

#include <atomic>
#include <cstdint>

namespace mortise::outbox::table {

/// Makes a database's write-ahead log durable, and remembers where that failed.
///
/// After a failed fsync the kernel may call pages clean that never reached the disk: the next fsync
/// succeeds without them, on any connection. So from a failure on nothing counts as durable until
/// `write_anew` has written the whole log again, which makes its pages dirty, and has synced that.
///
/// @par Threads Any.
class log_keeper {
public:
    /// Waits until everything that was committed to the database is on its disk, also what was
    /// written by somebody who did not wait for that himself (`synchronous = NORMAL`, in whatever
    /// process).
    ///
    /// What is not in the write-ahead log any more was synced when it was copied back.
    ///
    /// In a transaction that has read. @throws error `log_not_synced` after a failure
    void make_durable(db::connection& on);

    /// A commit or a checkpoint of ours failed: nobody knows what is on the disk.
    void suspect() noexcept { ++failures_; }
    bool is_suspect() const noexcept { return failures_ != settled_; }

    /// Writes what the log holds over itself and syncs it. While another connection only reads or
    /// copies the log back it does no harm, as no byte changes.
    ///
    /// In a transaction that writes, so that nobody appends to the log or begins it anew.
    /// @throws error
    void write_anew(db::connection& on);

private:
    std::atomic<std::uint64_t> failures_{0};
    std::atomic<std::uint64_t> settled_{0};  // so many of them do not count any more
};

}  // namespace mortise::outbox::table

#endif
