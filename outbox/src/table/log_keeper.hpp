// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_LOG_KEEPER_HPP
#define MORTISE_OUTBOX_SRC_TABLE_LOG_KEEPER_HPP

#include "mortise/db/connection.hpp"

#include <atomic>
#include <cstdint>

namespace mortise::outbox::table {

/// Makes a database's write-ahead log durable, and remembers failures.
///
/// After a failed fsync the kernel may treat pages as clean that never reached the disk. The next
/// fsync then succeeds without them, on any connection. So after a failure nothing counts as
/// durable until `write_anew` has written the whole log again, which makes its pages dirty, and has
/// synced it. By then the kernel may have dropped pages, and reads older bytes from the disk: the
/// checksums of the log tell.
///
/// @par Threads Any.
class log_keeper {
public:
    /// Waits until everything that was committed to the database is on its disk. That includes the
    /// commits of writers that do not wait for it (`synchronous = NORMAL`, in any process).
    ///
    /// What is no longer in the write-ahead log was synced when it was copied back.
    ///
    /// Call it in a transaction that has read. @throws error `log_not_synced` after a failure
    void make_durable(db::connection& on);

    /// Notes that a commit or a checkpoint of this process failed: the state of the disk is
    /// unknown.
    void suspect() noexcept { ++failures_; }
    bool is_suspect() const noexcept { return failures_ != settled_; }

    /// Writes the contents of the log over themselves and syncs them. No byte changes, so other
    /// connections may read, or copy the log back, meanwhile.
    ///
    /// Call it in a transaction that writes: nobody can append to the log or restart it then.
    /// @throws error `log_not_synced` if the log does not have all that was committed.
    void write_anew(db::connection& on);

private:
    std::atomic<std::uint64_t> failures_{0};
    std::atomic<std::uint64_t> settled_{0};  // how many of them are repaired
};

}  // namespace mortise::outbox::table

#endif
