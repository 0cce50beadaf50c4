// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_FAULT_VFS_HPP
#define MORTISE_TESTS_SUPPORT_FAULT_VFS_HPP

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct sqlite3_vfs;

namespace mortise::test {

/// SQLite's file system with a counter and a switch at each place where a disk can fail. Registered
/// under `name()` while it lives; all databases that use it must be closed before.
class fault_vfs {
public:
    fault_vfs();
    ~fault_vfs();
    fault_vfs(const fault_vfs&) = delete;
    fault_vfs& operator=(const fault_vfs&) = delete;

    const std::string& name() const { return name_; }

    // Counts for the write-ahead log, and for the database itself.
    std::atomic<int> log_syncs{0};
    std::atomic<int> database_syncs{0};
    std::atomic<int> log_writes{0};
    /// Bytes that were written to the write-ahead log since its last failed sync.
    std::atomic<std::size_t> log_bytes_since_failed_sync{0};

    /// Operations on both files: writes, truncations and syncs, in the order in which they come.
    std::atomic<int> operations{0};
    /// The operation that fails with `result`, counted from one; zero: none. With `for_good` all
    /// later ones fail, too.
    std::atomic<int> fail_at{0};
    std::atomic<bool> for_good{false};
    std::atomic<int> result{0};

    /// Whether there is power: without it every operation fails. Whoever closes a database, because
    /// its process ends with the power, would sync what must be lost.
    std::atomic<bool> power{true};
    /// Loses all that was written since the last sync of its file, as after a power failure, except
    /// the first `kept` writes. No database may be open. One thread.
    void lose_unsynced(std::size_t kept);
    /// How many writes would be lost.
    std::size_t unsynced() const;

    // Result codes that are returned instead of doing the operation; zero: do it.
    std::atomic<int> log_sync_result{0};
    std::atomic<int> log_write_result{0};
    std::atomic<int> database_sync_result{0};
    /// For each lock that is asked for, of the file or of the log's index.
    std::atomic<int> lock_result{0};

    /// Whether SQLite sleeps while it waits for a lock. False where time stands still: then it has
    /// waited at once.
    std::atomic<bool> sleeps{true};
    /// How often it did.
    std::atomic<int> slept{0};

    /// Makes whoever syncs the log wait until `release_syncs`.
    void hold_syncs();
    void release_syncs();
    /// Waits until a sync of the log is held.
    void wait_for_held_sync();

    /// Makes whoever opens the database wait until `release_opens`.
    void hold_opens();
    void release_opens();
    /// Waits until an opening is held.
    void wait_for_held_open();
    /// Calls that open a file and have not returned, those that are held included.
    std::atomic<int> opens_under_way{0};

    // Called by the files.
    void before_open();
    int sync_log();
    int next_result();
    void remember(const std::string& path, std::int64_t offset, std::size_t size);
    /// Forgets writes of a file that can no longer be lost: it was synced, or deleted.
    void forget(const std::string& path);

private:
    /// The bytes that a write replaced; the file had `length` bytes before it.
    struct undo {
        std::string path;
        std::int64_t offset = 0;
        std::string bytes;
        std::uintmax_t length = 0;
    };

    std::vector<undo> undo_;  // under the mutex
    std::string name_;
    std::unique_ptr<sqlite3_vfs> vfs_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    int waiting_ = 0;
    bool opens_held_ = false;
    int opens_waiting_ = 0;
};

}  // namespace mortise::test

#endif
